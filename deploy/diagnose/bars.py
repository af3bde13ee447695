"""Shares as small bars, for people who look rather than read.

Owns: how a bar is drawn. Knows nothing about what is shared.
"""

from __future__ import annotations

WIDTH = 24
SHOWS = 0.005
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(ratio: float, width: int = WIDTH) -> str:
    """A share of 0..1 as a bar of `width` characters; whatever is above half a percent shows."""
    eighths = round(min(max(ratio, 0.0), 1.0) * width * 8)
    if ratio >= SHOWS:
        eighths = max(eighths, 1)
    whole, part = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[part] if part else "")).ljust(width, "·")
