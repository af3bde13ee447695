"""How much the gaps within answers really tell: the effective size of a sample that comes in clusters.

Owns: percentiles and their intervals for values of which those of one request are alike. Knows nothing
about what the values are. 60 answers of 100 tokens are not 6,000 independent gaps: if a slow answer is
slow throughout, they are little more than 60.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from loadgen.stats.intervals import Z, percentile_ranks, student_t
from loadgen.stats.quantiles import PERCENTS, Distribution, sample_quantile

_FEWEST_CLUSTERS = 6
"""As many as a median needs: below that, the differences between answers are not known at all."""


def clustered(clusters: Sequence[Sequence[float]]) -> Distribution:
    """Describe values in clusters: n, mean, percentiles and maximum of all, intervals by effective size.

    A percentile is withheld where its effective size would not carry one of independent values.
    """
    ordered = sorted(value for cluster in clusters for value in cluster)
    n = len(ordered)
    filled = [sorted(cluster) for cluster in clusters if cluster]
    percentiles: dict[int, float | None] = dict.fromkeys(PERCENTS)
    ci95: dict[int, tuple[float, float] | None] = dict.fromkeys(PERCENTS)
    for percent in PERCENTS:
        size = effective_n(filled, ordered, percent)
        ranks = percentile_ranks(size, percent)
        if ranks is not None:
            percentiles[percent] = sample_quantile(ordered, percent)
            low, high = (ordered[_scaled(rank, size, n)] for rank in ranks)
            ci95[percent] = low, high
    return Distribution(
        n=n,
        mean=math.fsum(ordered) / n if n else None,
        max=ordered[-1] if n else None,
        percentiles=percentiles,
        ci95=ci95,
    )


def effective_n(clusters: Sequence[Sequence[float]], ordered: Sequence[float], percent: float) -> int:
    """How many independent values would know the share below the percentile as well as these do.

    The variance of that share is the ratio estimator's over clusters, sum of (y - p m)^2 with y of a
    cluster's m values at or below the percentile; p (1 - p) / variance is the size. It is made smaller
    by (z / t)^2, for a variance from few clusters is itself uncertain (Korn and Graubard, Survey
    Methodology 24 (1998) 193-201), and is never above n. 0 for fewer than six clusters.
    """
    n, number = len(ordered), len(clusters)
    if number < _FEWEST_CLUSTERS:
        return 0
    cut = sample_quantile(ordered, percent)
    below = [sum(value <= cut for value in cluster) for cluster in clusters]
    share = sum(below) / n
    spread = math.fsum((y - share * len(cluster)) ** 2 for y, cluster in zip(below, clusters, strict=True))
    variance = number / (number - 1) * spread / n**2
    if variance == 0:
        return number  # every answer is alike: what one more of them would tell is not known
    size = share * (1 - share) / variance * (Z / student_t(number - 1)) ** 2
    return max(0, min(n, math.floor(size)))


def _scaled(rank: int, size: int, n: int) -> int:
    """The place among n values in order of the one with this rank among `size`."""
    return min(n - 1, max(0, round((rank - 0.5) / size * n - 0.5)))
