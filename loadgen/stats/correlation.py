"""How long neighbours in a series resemble each other.

Owns: the integrated autocorrelation time. Knows nothing about what the series is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

_WINDOW = 5.0
_LONGEST = 8
"""A time above n / 8 cannot be told from a trend by so few values."""


def correlation_time(values: Sequence[float]) -> float:
    """How many neighbours tell as much as one independent value would: 1 for independent ones.

    1 + 2 * the sum of the autocorrelations, up to the first lag that is at least five times the time found
    so far (Sokal, Monte Carlo Methods in Statistical Mechanics, 1996, section 3). At most n / 8.
    """
    n = len(values)
    mean = fmean(values) if n else 0.0
    centred = [value - mean for value in values]
    power = math.fsum(value * value for value in centred)
    if n < 2 * _LONGEST or power == 0:
        return 1.0
    time, most = 1.0, n / _LONGEST
    for lag in range(1, n // 2):
        products = zip(centred, centred[lag:], strict=False)
        time += 2 * math.fsum(x * y for x, y in products) / power
        if lag >= _WINDOW * time or time >= most:
            break
    return min(max(time, 1.0), most)
