"""Arithmetic on models and memory: does it fit, and how much. Pure."""
