"""Intervals of a difference: of two ratios, and of two means of a few numbers each.

Owns: Newcombe's and Welch's intervals. Knows nothing about requests. `tail` is what is left out at each
end; all are `second` less `first`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance

from loadgen.stats.intervals import student_t, wilson

Interval = tuple[float, float]


def of_ratios(first: tuple[float, float], second: tuple[float, float], tail: float) -> Interval | None:
    """Newcombe's hybrid score interval of two ratios given as (successes, trials); None without trials.

    Counts of correlated trials may be made smaller, and then need not be whole.

    Source: R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10. Unlike the normal
    interval it has a width where both ratios are 0 or 1.
    """
    z = NormalDist().inv_cdf(1 - tail)
    a, b = wilson(*first, z=z), wilson(*second, z=z)
    if a is None or b is None:
        return None
    p, q = first[0] / first[1], second[0] / second[1]
    low = q - p - math.hypot(q - b[0], a[1] - p)
    high = q - p + math.hypot(b[1] - q, p - a[0])
    return low, high


def of_means(first: Sequence[float], second: Sequence[float], tail: float) -> Interval | None:
    """Welch's interval of two means, each of two or more independent numbers; None below that.

    Source: B. L. Welch, Biometrika 34 (1947) 28-35, with Satterthwaite's degrees of freedom.
    """
    if min(len(first), len(second)) < 2:
        return None
    a, b = variance(first) / len(first), variance(second) / len(second)
    change = fmean(second) - fmean(first)
    if a + b == 0:
        return change, change
    degrees = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    half = student_t(round(degrees, 3), tail) * math.sqrt(a + b)
    return change - half, change + half


def around(*intervals: Interval | None) -> Interval | None:
    """The smallest interval that holds all; None where one is not known."""
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)
