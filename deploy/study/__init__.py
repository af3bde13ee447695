"""Levers measured on this machine: a study file, what was designed, what was run, what came out."""
