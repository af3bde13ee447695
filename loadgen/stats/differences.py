"""Intervals of a difference: of two ratios, and of two means of a few numbers each.

Owns: the intervals of Newcombe, of Agresti and Min, and of Welch. Knows nothing about requests. `tail`
is what is left out at each end; all are `second` less `first`.
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


def of_pairs(
    first: Sequence[int], second: Sequence[int], tail: float, *, correlation_time: float = 1.0
) -> Interval | None:
    """Agresti and Min's interval of two ratios over the same trials, 1 or 0 each; None without trials.

    Only trials that went differently tell of a difference; half a trial is added to each of the four ways
    that a pair can go, so that it has a width where none did. Correlated trials are counted as fewer.
    Source: A. Agresti and Y. Min, Statistics in Medicine 24 (2005) 729-740.
    """
    if not first:
        return None
    pairs = list(zip(first, second, strict=True))
    n = len(pairs) / correlation_time + 2
    lost = pairs.count((1, 0)) / correlation_time + 0.5
    won = pairs.count((0, 1)) / correlation_time + 0.5
    change = (won - lost) / n
    half = NormalDist().inv_cdf(1 - tail) * math.sqrt(max(0.0, won + lost - (won - lost) ** 2 / n)) / n
    return possible(change - half, change + half)


def possible(low: float, high: float) -> Interval:
    """What of an interval a difference of two ratios can be: those made with normal points reach beyond."""
    return max(-1.0, low), min(1.0, high)


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
