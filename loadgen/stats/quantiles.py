"""Percentiles that are withheld when the sample cannot carry them.

Owns: the estimator and the shape of a distribution in summary.json. Knows nothing about requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.stats.intervals import percentile_ranks

PERCENTS = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Distribution:
    """n, mean, percentiles and maximum of a sample; a percentile is None where n is too small for it."""

    n: int
    mean: float | None
    max: float | None
    percentiles: dict[int, float | None] = field(default_factory=dict)
    ci95: dict[int, tuple[float, float] | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: `{n, mean, p50, p90, p95, p99, max, ci95: {p50: [low, high] or null, ...}}`."""
        return {
            "n": self.n,
            "mean": self.mean,
            **{f"p{percent}": self.percentiles[percent] for percent in PERCENTS},
            "max": self.max,
            "ci95": {f"p{percent}": _pair(self.ci95[percent]) for percent in PERCENTS},
        }


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def sample_quantile(ordered: Sequence[float], percent: float) -> float:
    """Type 7: linear between x(floor h) and x(floor h + 1), h = (n - 1) * percent/100 + 1, n values in order.

    The default of R and NumPy. `ordered` is sorted and not empty; whether n suffices is not asked.
    Source: Hyndman and Fan, The American Statistician 50 (1996) 361-365.
    """
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def distribution(values: Iterable[float | None]) -> Distribution:
    """Describe a sample; None values (undefined for a request) are left out and so not in n."""
    ordered = sorted(value for value in values if value is not None)
    n = len(ordered)
    percentiles: dict[int, float | None] = {}
    ci95: dict[int, tuple[float, float] | None] = {}
    for percent in PERCENTS:
        ranks = percentile_ranks(n, percent)
        percentiles[percent] = None if ranks is None else sample_quantile(ordered, percent)
        ci95[percent] = None if ranks is None else (ordered[ranks[0] - 1], ordered[ranks[1] - 1])
    return Distribution(
        n=n,
        mean=math.fsum(ordered) / n if n else None,
        max=ordered[-1] if n else None,
        percentiles=percentiles,
        ci95=ci95,
    )
