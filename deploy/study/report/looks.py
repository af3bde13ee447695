"""The colour and the marker of a series by its number, so that no two of 56 look alike.

Owns: which is which. Knows nothing about how a colour is spelled (`look` does).
"""

from __future__ import annotations

MARKERS = "\u25cf\u25a0\u25b2\u25c6\u25bc\u2605\u25ac\u2716"
"""Circle, square, triangle, diamond, triangle down, star, bar, cross."""
COLOURS = 7
"""Beside the control's grey."""


def colour(number: int) -> int:
    """0 is the control's grey, which no other has; from 8 on colours come again, with other markers."""
    return number if number == 0 else 1 + (number - 1) % COLOURS


def marker(number: int) -> str:
    """The marker that goes with the colour, one further in each round of colours."""
    rounds = 0 if number == 0 else (number - 1) // COLOURS
    return MARKERS[(colour(number) + rounds) % len(MARKERS)]
