"""Traces of real traffic: rows of times and lengths in the forms in which they were published."""
