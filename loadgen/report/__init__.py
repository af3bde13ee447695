"""A summary made readable: a table for the terminal and a page for the browser.

Owns: how numbers look. Knows nothing about how they are computed, and writes no file.
"""
