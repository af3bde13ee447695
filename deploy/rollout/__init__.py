"""A new revision takes over under gates: what is decided (pure), and what carries it out."""
