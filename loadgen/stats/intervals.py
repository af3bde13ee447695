"""95 % confidence intervals: of a percentile from order statistics, and of a ratio after Wilson.

Owns: the two intervals, the smallest samples that allow them, and Student's t. Knows nothing about
requests. Both take the observations as independent. Requests nearly are; the gaps within one answer are
not, see `clusters.py`.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import accumulate

CONFIDENCE = 0.95
Z = 1.959963984540054
"""97.5 % point of the standard normal distribution."""

SMALLEST_N = {50: 6, 90: 46, 95: 93, 99: 473}
"""Fewest observations for which `percentile_ranks` has an interval, by percentile."""


@cache
def percentile_ranks(n: int, percent: float) -> tuple[int, int] | None:
    """Order statistics [x(l), x(u)], the narrowest pair that covers the percentile with 95 % confidence.

    Returns the 1-based ranks (l, u), or None if n is too small. With B ~ Binomial(n, percent/100) they
    cover it with probability P(l <= B < u), whatever the distribution (Le Boudec, Performance Evaluation
    of Computer and Communication Systems, chapter 2). Above the median the upper end must lie below the
    maximum, which estimates nothing: P(B <= n-2) >= 0.95 gives n >= 46, 93 and 473 for p90, p95 and p99,
    Wilks' numbers. The median needs 6.

    Of intervals equally wide the one with the more equal tails is taken, then the lower.
    """
    highest = n if percent <= 50 else n - 1
    first, cumulative = _binomial_cdf(n, percent / 100)

    def below(rank: int) -> float:
        """P(B < rank)."""
        if rank <= first:
            return 0.0
        return cumulative[min(rank - first, len(cumulative)) - 1]

    best: tuple[int, float, int, int] | None = None
    upper = 2
    for lower in range(max(1, first), min(highest, first + len(cumulative)) + 1):
        upper = max(upper, lower + 1)
        while upper <= highest and below(upper) - below(lower) < CONFIDENCE:
            upper += 1
        if upper > highest:
            break
        imbalance = round(abs((1 - below(upper)) - below(lower)), 12)  # equal tails differ in the last bits
        candidate = (upper - lower, imbalance, lower, upper)
        best = candidate if best is None else min(best, candidate)
    return None if best is None else best[2:]


def _binomial_cdf(n: int, p: float) -> tuple[int, list[float]]:
    """(k0, [P(B <= k0), P(B <= k0+1), ...]): the part of the distribution that is not negligible.

    Eight standard deviations (and at least 40 counts) to each side leave out less than 1e-15. Each
    term is taken in logarithms, so that large n neither overflows nor vanishes.
    """
    reach = 40 + math.ceil(8 * math.sqrt(n * p * (1 - p)))
    first, last = max(0, math.floor(n * p) - reach), min(n, math.ceil(n * p) + reach)
    log_p, log_q, log_n = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    terms = (
        math.exp(log_n - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_p + (n - k) * log_q)
        for k in range(first, last + 1)
    )
    return first, list(accumulate(terms))


def wilson(successes: float, trials: float, *, z: float = Z) -> tuple[float, float] | None:
    """Wilson's score interval, with 95 % confidence or what another normal point `z` gives.

    For successes / trials, within 0..1; None without trials.

    Source: E. B. Wilson, JASA 22 (1927) 209-212. Unlike the normal interval it stays within 0..1 and
    has a width at 0 and at 1.
    """
    if trials == 0:
        return None
    ratio, z2 = successes / trials, z * z
    centre = (ratio + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z / (1 + z2 / trials) * math.sqrt(ratio * (1 - ratio) / trials + z2 / (4 * trials * trials))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return low, high


@cache
def student_t(degrees: float, tail: float = 0.025) -> float:
    """The point of Student's t that is exceeded with probability `tail`; `degrees` >= 1 need not be whole.

    P(T > t) is the integral of cos^(v-1) from atan(t / sqrt v) to pi/2, over that of the whole half circle
    (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7); Simpson's rule, then bisection.
    """
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if scale * _cosine_power(middle, degrees - 1) > tail:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _cosine_power(start: float, power: float, steps: int = 256) -> float:
    """The integral of cos^power from `start` to pi/2."""
    width = (math.pi / 2 - start) / steps
    heights = [math.pow(max(0.0, math.cos(start + i * width)), power) for i in range(steps + 1)]
    return width / 3 * (heights[0] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]) + heights[-1])
