"""Slow start: a backend that came back gets its full share only by and by, for its caches are cold.

Owns: that ramp. Knows nothing about clocks: times come in as arguments.
"""

from __future__ import annotations

FLOOR = 0.1
"""Nobody warms up without requests."""


def ramp(since_s: float, now_s: float, duration_s: float) -> float:
    """The weight, 0.1 to 1, of a backend that has been ready since `since_s`."""
    if duration_s <= 0:
        return 1.0
    return min(1.0, max(FLOOR, (now_s - since_s) / duration_s))
