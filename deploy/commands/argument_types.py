"""Numbers, times and sizes as they are typed after an option.

Owns: reading them, and what is said of a wrong one. Knows nothing about any command.
Units are imported when one is read: `--help` does not need them.
"""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number from 1. Raises: ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1")
    return int(text)


def whole(text: str) -> int:
    """A whole number from 0. Raises: ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0")
    return int(text)


def positive(text: str) -> float:
    """A number above 0. Raises: ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return value


def duration(text: str) -> float:
    """A time with its unit, in seconds. Raises: ArgumentTypeError."""
    from serving.config.units import UnitError, parse_duration

    try:
        return parse_duration(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def size(text: str) -> int:
    """A size with its unit, in bytes. Raises: ArgumentTypeError."""
    from serving.config.units import UnitError, parse_size

    try:
        return parse_size(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def share(text: str) -> float:
    """A number above 0 and at most 1. Raises: ArgumentTypeError."""
    value = positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is above 1; give a share such as 0.92")
    return value
