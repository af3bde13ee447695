"""The tests and intervals that the gate stands on.

Owns: the exact test of two shares, the interval of a ratio of means, the distance of two histograms, and
how the chance of a wrong verdict is shared out. Knows nothing about requests.

The gateway spreads requests over revisions without looking at them. So if both behave alike, which of the
requests that went wrong were the canary's is a draw, whatever makes requests fail together: the test of
shares is exact. (Not with sticky routing, where a client's requests go together.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

FALSE_ALARM = 0.05
"""Chance that a revision as good as the old one is failed, over all steps, looks and tests of a rollout."""
FALSE_PASS = 0.01
"""Chance that a revision that is as much worse as a gate's limit passes it within one step."""
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the evidence: what it may leave to chance."""

    fail_tail: float
    """Of each test that can fail."""
    pass_tail: float | None
    """Of each bound that has to hold to pass; None: too early to pass."""


def look(*, tests: int, decision: int | None) -> Look:
    """What one of `tests` looks-by-checks-by-steps may spend, as the `decision`-th (from 1) that may pass.

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
        if term < found * 1e-12:
            break
    return min(1.0, found)


def beyond_p(hits: int, n: int, share: float) -> float:
    """P(so many hits or more of n), were each one with probability `share`: the exact binomial tail."""
    if n == 0 or hits <= n * share:
        return 1.0
    logs = (
        _log_choose(n, k) + k * math.log(share) + (n - k) * math.log1p(-share) for k in range(hits, n + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))


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
