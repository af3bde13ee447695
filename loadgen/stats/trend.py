"""Whether a short series goes up: Mann and Kendall's test, with Theil and Sen's slope for how much.

Owns: the exact test and the slope. Knows nothing about what the series is. Neither assumes a shape of
the noise, only that the values are exchangeable when there is no trend; so the series should be means
of blocks long enough to be nearly independent, not single requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from statistics import median


@dataclass(frozen=True, slots=True)
class Trend:
    """`p`: the probability of so much upward order by chance. `growth`: slope * length of the series."""

    p: float
    growth: float


def upward(values: Sequence[float]) -> Trend:
    """Test a series for going up, one-sided and exact; two or more values.

    S counts the pairs that go up less those that go down (Mann, Econometrica 13 (1945) 245-259). Its
    distribution is that of the inversions of random permutations. Ties count 0 and make p larger, never
    smaller than it should be by more than the ties. The slope is the median over all pairs (Sen, JASA 63
    (1968) 1379-1389), per place in the series.
    """
    n = len(values)
    pairs = [(j - i, values[j] - values[i]) for i, j in combinations(range(n), 2)]
    score = sum((step > 0) - (step < 0) for _, step in pairs)
    slope = median(step / distance for distance, step in pairs)
    return Trend(p=_at_least(n, score), growth=slope * (n - 1))


def _at_least(n: int, score: int) -> float:
    """P(S >= score) for n values in random order. S = pairs - 2 * inversions."""
    most = (n * (n - 1) // 2 - score) // 2
    counts = _inversions(n)
    return sum(counts[: most + 1]) / sum(counts)


@cache
def _inversions(n: int) -> tuple[int, ...]:
    """How many permutations of n have 0, 1, 2 ... inversions (the Mahonian numbers)."""
    counts = [1]
    for size in range(2, n + 1):
        grown = [0] * (len(counts) + size - 1)
        for inversions, ways in enumerate(counts):
            for more in range(size):
                grown[inversions + more] += ways
        counts = grown
    return tuple(counts)
