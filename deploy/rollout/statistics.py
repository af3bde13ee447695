"""The tests and intervals that the gate stands on.

Owns: the exact test of two shares, the interval of a ratio of means, the distance of two histograms, and
how the chance of a wrong verdict is shared out. Knows nothing about requests.

The gateway spreads requests over revisions without looking at them. So if both behave alike, which of the
requests that went wrong were the canary's is a draw, whatever makes requests fail together: the test of
shares is exact. (Not with sticky routing, where a client's requests go together.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from loadgen.stats.intervals import student_t, wilson

FALSE_ALARM = 0.05
"""Chance that a revision as good as the old one is failed, over all steps, looks and tests of a rollout."""
FALSE_PASS = 0.01
"""Chance that a revision that is as much worse as a gate's limit passes it within one step."""
Interval = tuple[float, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the evidence: what it may leave to chance."""

    fail_tail: float
    """Of each test that can fail."""
    pass_tail: float | None
    """Of each bound that has to hold to pass; None: too early to pass."""


def look(*, tests: int, decision: int | None) -> Look:
    """What one look may spend, where a rollout makes `tests` tests; it is the `decision`-th (from 1) to pass.

    Bonferroni for failing. For passing the k-th decision gets 2^-k of the whole, so their number need not
    be known; and as every check has to pass, more checks do not make a false pass likelier (Berger,
    Technometrics 24 (1982) 295-300).
    """
    return Look(FALSE_ALARM / tests, None if decision is None else FALSE_PASS * 0.5**decision)


def normal_point(tail: float) -> float:
    """The point of the standard normal distribution that is exceeded with probability `tail`."""
    return -NormalDist().inv_cdf(tail)


def excess_p(hits: int, n: int, base_hits: int, base_n: int) -> float:
    """P(the first side has so many hits or more), were hits dealt out by chance: 1 where it has no excess.

    Fisher's exact test, one-sided: the upper tail of the hypergeometric distribution.
    """
    total = hits + base_hits
    if n == 0 or base_n == 0 or hits * base_n <= base_hits * n:
        return 1.0
    # Each term follows from the one before, and past the mode they fall faster than a geometric series.
    term = math.exp(_log_choose(n, hits) + _log_choose(base_n, base_hits) - _log_choose(n + base_n, total))
    found = term
    for k in range(hits, min(n, total)):
        term *= (n - k) * (total - k) / ((k + 1) * (base_n - total + k + 1))
        found += term
        if term <= found * 1e-12:
            break
    return min(1.0, found)


def beyond_p(hits: int, n: int, share: float) -> float:
    """P(so many hits or more of n), were each one with probability `share`: the exact binomial tail."""
    if n == 0 or hits <= n * share:
        return 1.0
    term = math.exp(_log_choose(n, hits) + hits * math.log(share) + (n - hits) * math.log1p(-share))
    found = term
    for k in range(hits, n):
        term *= (n - k) / (k + 1) * share / (1 - share)
        found += term
        if term <= found * 1e-12:
            break
    return min(1.0, found)


def most_share(hits: int, n: int, tail: float) -> float:
    """The largest share of which so few hits of n are not less likely than `tail`.

    Clopper and Pearson's upper limit (Biometrika 26 (1934) 404-413) for few hits, Wilson's for many, where
    both agree and the sum is long.
    """
    if hits >= min(n, _FEW):
        interval = wilson(hits, n, z=normal_point(tail))
        return 1.0 if interval is None else interval[1]
    low, high = hits / n, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most_p(hits, n, middle) > tail else (low, middle)
    return high


_FEW = 50


def most_difference(hits: int, n: int, base_hits: int, base_n: int, tail: float) -> float:
    """The most that the first share may be above the second.

    Both limits are put together as Newcombe does (Statistics in Medicine 17 (1998) 873-890, method 10), the
    first one after `most_share`: Wilson's is too wide where there are hardly any hits.
    """
    base = wilson(base_hits, base_n, z=normal_point(tail))
    if n == 0 or base is None:
        return 1.0
    share, other = hits / n, base_hits / base_n
    return share - other + math.hypot(most_share(hits, n, tail) - share, other - base[0])


def _at_most_p(hits: int, n: int, share: float) -> float:
    """P(so few hits or fewer of n), were each one with probability `share`."""
    if share >= 1:
        return float(hits >= n)
    term = math.exp(n * math.log1p(-share))
    found = term
    for k in range(hits):
        term *= (n - k) / (k + 1) * share / (1 - share)
        found += term
    return found


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@dataclass(frozen=True, slots=True)
class Moments:
    """How many numbers, their mean and their standard deviation."""

    n: float
    mean: float
    sd: float


def ratio_of_means(first: Moments, second: Moments, tail: float) -> Interval | None:
    """The interval of first by second; None where one has no mean above 0, or fewer than two numbers.

    The delta method on the logarithm: its variance is the sum of both squared coefficients of variation by n.
    """
    if min(first.n, second.n) < 2 or first.mean <= 0 or second.mean <= 0:
        return None
    variance = sum((side.sd / side.mean) ** 2 / side.n for side in (first, second))
    centre, half = math.log(first.mean / second.mean), normal_point(tail) * math.sqrt(variance)
    return math.exp(centre - half), math.exp(centre + half)


def ratio_of_limits(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """First by second between its limits, each given between limits of its own: low, estimate, high, above 0.

    Zou and Donner, Statistics in Medicine 27 (2008) 1693-1702, on logarithms.
    """
    (a_low, a, a_high), (b_low, b, b_high) = (tuple(map(math.log, side)) for side in (first, second))
    centre = a - b
    low, high = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
    return math.exp(centre - low), math.exp(centre), math.exp(centre + high)


def between_parts(
    parts: Sequence[T], estimate: Callable[[Sequence[T]], float | None], tail: float
) -> Interval | None:
    """The interval of an estimate from how much the parts of its window differ; None where too few tell.

    Requests of one engine are fast and slow together, so counting them as independent promises too much. The
    jackknife leaves out one part after the other (Efron, The Jackknife, the Bootstrap and Other Resampling
    Plans, 1982, chapter 3), and Student's t pays for parts being few.
    """
    k = len(parts)
    found = estimate(parts)
    without = [estimate([*parts[:at], *parts[at + 1 :]]) for at in range(k)]
    known = [value for value in without if value is not None]
    if found is None or k < 2 or len(known) < k:
        return None
    mean = math.fsum(known) / k
    se = math.sqrt((k - 1) / k * math.fsum((value - mean) ** 2 for value in known))
    half = student_t(k - 1, tail) * se
    return found - half, found + half


def distance(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest difference of two cumulative shares (Kolmogorov's), of counts by the same bounds."""
    n, m, furthest, so_far, so_far_second = sum(first), sum(second), 0.0, 0.0, 0.0
    if n == 0 or m == 0:
        return 0.0
    for a, b in zip(first, second, strict=True):
        so_far, so_far_second = so_far + a / n, so_far_second + b / m
        furthest = max(furthest, abs(so_far - so_far_second))
    return furthest


def distance_by_chance(n: float, m: float, tail: float) -> float:
    """What `distance` exceeds at most with probability `tail`, were both sides alike.

    Smirnov's limit, 2 exp(-2 d^2 nm / (n + m)); counts by bounds stay below it (Noether 1963).
    """
    return math.sqrt(math.log(2 / tail) / 2 * (n + m) / (n * m))
