"""Prompts: one kind of source a file, all of them pure. The texts they draw from are data beside them."""
