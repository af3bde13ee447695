"""How far the difference of two percentiles may be chance, from the samples themselves.

Owns: the paired block bootstrap. Knows nothing about requests or about what a difference means.

Requests near in time share the server's state, so whole blocks of neighbours are drawn, not single ones
(Kunsch, Annals of Statistics 17 (1989) 1217-1241). Two runs of one timetable are drawn together:
what a prompt or a burst does to both of them cancels.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Blocked:
    """A sample in ascending order, with the number of the block that each value belongs to."""

    values: tuple[float, ...]
    blocks: tuple[int, ...]

    @classmethod
    def of(cls, values: Mapping[int, float] | Sequence[tuple[int, float]], length: int) -> Blocked:
        """From values by their place in the timetable; `length` neighbouring places are a block."""
        pairs = values.items() if isinstance(values, Mapping) else values
        ordered = sorted((value, place // length) for place, value in pairs)
        return cls(tuple(value for value, _ in ordered), tuple(block for _, block in ordered))

    def quantiles(self, weights: Sequence[int], percents: Sequence[float]) -> list[float] | None:
        """The type 7 quantiles of the sample in which each value stands as often as its block has weight."""
        reached = list(accumulate(map(weights.__getitem__, self.blocks)))
        if not reached or not reached[-1]:
            return None
        found = []
        for percent in percents:
            position = (reached[-1] - 1) * percent / 100
            below = math.floor(position)
            low = self.values[bisect_left(reached, below + 1)]
            high = self.values[bisect_left(reached, min(below + 2, reached[-1]))]
            found.append(low + (position - below) * (high - low))
        return found


def block_length(n: int, correlation_time: float = 1.0) -> int:
    """n^(1/3), the rate at which blocks should grow (Hall, Horowitz and Jing, Biometrika 82 (1995) 561).

    At least twice the time for which neighbours resemble each other, and never fewer than eight blocks.
    """
    return max(1, min(n // 8, max(round(math.cbrt(n)), math.ceil(2 * (correlation_time - 1)))))


def differences(
    a: Blocked,
    b: Blocked,
    percents: Sequence[float],
    *,
    blocks: int,
    paired: bool,
    seed: int,
    resamples: int = RESAMPLES,
) -> list[list[float]]:
    """For each percentile, that of b less that of a in so many resamples, in ascending order.

    `paired` draws the same blocks for both. The same seed gives the same numbers.
    """
    rng = random.Random(seed)
    found: list[list[float]] = [[] for _ in percents]
    for _ in range(resamples):
        first = _weights(rng, blocks)
        second = first if paired else _weights(rng, blocks)
        low, high = a.quantiles(first, percents), b.quantiles(second, percents)
        if low is not None and high is not None:
            for differing, before, after in zip(found, low, high, strict=True):
                differing.append(after - before)
    return [sorted(differing) for differing in found]


def tail_interval(ordered: Sequence[float], tail: float) -> tuple[float, float] | None:
    """The resamples' interval that leaves `tail` out at each end; None where there are too few for that."""
    cut = math.floor(len(ordered) * tail)
    return (ordered[cut], ordered[-1 - cut]) if cut >= 1 else None


def _weights(rng: random.Random, blocks: int) -> list[int]:
    weights = [0] * blocks
    for block in rng.choices(range(blocks), k=blocks):
        weights[block] += 1
    return weights
