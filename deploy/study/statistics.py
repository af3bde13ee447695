"""Means and ratios over repeats, with their intervals.

Owns: which interval belongs to which. Knows nothing about what is measured. The unit is the repeat: requests
within one share the engine, the machine's mood and the prompts, and do not count for n.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.study.results import LEVEL
from loadgen.stats.intervals import student_t, wilson

TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval; `low` and `high` are None where one repeat allows none."""

    value: float
    low: float | None
    high: float | None
    n: int

    def holds(self, value: float) -> bool | None:
        """Whether it lies within; None without an interval. Rounding does not put a value outside."""
        if self.low is None or self.high is None:
            return None
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack


def mean(values: Sequence[float]) -> Interval:
    """The mean of repeats with Student's t: m -+ t(n - 1) s / sqrt(n). `values` is not empty."""
    middle = math.fsum(values) / len(values)
    if len(values) < 2:
        return Interval(middle, None, None, len(values))
    half = student_t(len(values) - 1, TAIL) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(middle, middle - half, middle + half, len(values))


def exact(values: Sequence[float]) -> Interval:
    """A number that is counted, not drawn, such as a cache's tokens: its own interval where all agree."""
    if min(values) == max(values):
        return Interval(values[0], values[0], values[0], len(values))
    return mean(values)


def ratio(pairs: Sequence[tuple[float, float]]) -> Interval | None:
    """How many times the second of each pair the first is: their geometric mean, Student's t on logarithms.

    A ratio is as far from 1 when halved as when doubled, and is so on the log scale only. None where a value
    is not above 0, or there are no pairs. For 3 to 10 pairs this holds its level; a bootstrap is too narrow.
    """
    if not pairs or any(min(pair) <= 0 for pair in pairs):
        return None
    found = mean([math.log(first / second) for first, second in pairs])
    if found.low is None or found.high is None:
        return Interval(math.exp(found.value), None, None, found.n)
    return Interval(math.exp(found.value), math.exp(found.low), math.exp(found.high), found.n)


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> list[tuple[float, float]]:
    """The values of the blocks that both have, in the order of the blocks."""
    return [(first[block], second[block]) for block in sorted(first.keys() & second.keys())]


def share(part: float, whole: float) -> Interval | None:
    """A share of independent trials, after Wilson; None without trials."""
    found = wilson(part, whole)
    return None if found is None else Interval(part / whole, *found, n=round(whole))
