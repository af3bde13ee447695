"""The one address that applications use, in front of the engines."""
