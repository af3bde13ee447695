"""The axis of time: where its marks stand, and what they say (in UTC).

Owns: nice steps and the words. Knows nothing about what is drawn over it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)


def marks(start_s: float, end_s: float, most: int) -> tuple[tuple[float, str], ...]:
    """At most so many times within a range, at whole steps, with their labels."""
    step = next((step for step in STEPS_S if (end_s - start_s) / step <= most), STEPS_S[-1])
    form = "%m-%d" if step >= 86400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    first = math.ceil(start_s / step) * step
    return tuple((float(at), at_utc(at, form)) for at in range(first, math.floor(end_s) + 1, step))


def at_utc(at_s: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A Unix time in words."""
    return datetime.fromtimestamp(at_s, UTC).strftime(form)
