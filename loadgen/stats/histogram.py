"""A logarithmic histogram of latencies that several processes fill apart and that merges exactly.

Owns: the buckets, the wire form, and quantiles with a relative error of at most 1 %. Knows nothing
about requests, messages or metrics pages. Everything inside is an integer (counts, nanoseconds), so
that merging is associative and commutative to the last bit, whichever worker reports first.

The buckets are DDSketch's (Masson, Rim and Lee, VLDB 12 (2019) 2195-2205): bucket i holds the values
in (g^(i-1), g^i] nanoseconds with g = (1 + e) / (1 - e), and stands for 2 g^i / (g + 1), which is
within a factor 1 +- e of all of them. Latencies from 1 us to 1,000 s need 1,037 buckets; a run fills
a few hundred.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from loadgen.stats.intervals import percentile_ranks
from loadgen.stats.quantiles import PERCENTS, Distribution

RELATIVE_ERROR = 0.01
WIRE_SCHEMA = 1
_GROWTH = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GROWTH = math.log(_GROWTH)
_NS_PER_S = 1_000_000_000


@dataclass(slots=True)
class Histogram:
    """Counts of latencies by bucket. Values up to 0 (a request sent early) have a bucket of their own."""

    n: int = 0
    sum_ns: int = 0
    min_ns: int | None = None
    max_ns: int | None = None
    not_positive: int = 0
    buckets: Counter[int] = field(default_factory=Counter)

    def add(self, seconds: float, count: int = 1) -> None:
        """Count a latency `count` times; it is rounded to a nanosecond."""
        self.add_ns(round(seconds * _NS_PER_S), count)

    def add_ns(self, ns: int, count: int = 1) -> None:
        """Count a latency in integer nanoseconds. `count` is at least 1."""
        self.n += count
        self.sum_ns += ns * count
        self.min_ns = ns if self.min_ns is None or ns < self.min_ns else self.min_ns
        self.max_ns = ns if self.max_ns is None or ns > self.max_ns else self.max_ns
        if ns > 0:
            self.buckets[_bucket(ns)] += count
        else:
            self.not_positive += count

    def merge(self, other: Histogram) -> None:
        """Add all of another one, exactly: as if each of its values had been added here."""
        self.n += other.n
        self.sum_ns += other.sum_ns
        self.min_ns = min((ns for ns in (self.min_ns, other.min_ns) if ns is not None), default=None)
        self.max_ns = max((ns for ns in (self.max_ns, other.max_ns) if ns is not None), default=None)
        self.not_positive += other.not_positive
        self.buckets.update(other.buckets)

    @property
    def mean_s(self) -> float | None:
        """Exact, from the sum; None of nothing."""
        return self.sum_ns / self.n / _NS_PER_S if self.n else None

    @property
    def max_s(self) -> float | None:
        """Exact; None of nothing."""
        return None if self.max_ns is None else self.max_ns / _NS_PER_S

    def quantile_s(self, percent: float) -> float | None:
        """The type 7 quantile, as `sample_quantile`, within 1 % of it; None of nothing.

        Whether n suffices is not asked. Values up to 0 count as the smallest value seen.
        """
        if not self.n:
            return None
        position = (self.n - 1) * percent / 100
        below = math.floor(position)
        low, high = (self._ranked_s(min(rank, self.n)) for rank in (below + 1, below + 2))
        return low + (position - below) * (high - low)

    def quantile_bounds_s(self, percent: float) -> tuple[float, float] | None:
        """Two values between which the type 7 quantile lies for certain; None of nothing."""
        if not self.n:
            return None
        below = math.floor((self.n - 1) * percent / 100)
        first, second = self._edges_ns(below + 1), self._edges_ns(min(below + 2, self.n))
        return first[0] / _NS_PER_S, second[1] / _NS_PER_S

    def distribution(self) -> Distribution:
        """The shape of summary.json: exact n, mean and maximum, the rest within 1 %, and withheld alike."""
        ranks = {percent: percentile_ranks(self.n, percent) for percent in PERCENTS}
        return Distribution(
            n=self.n,
            mean=self.mean_s,
            max=self.max_s,
            percentiles={p: None if r is None else self.quantile_s(p) for p, r in ranks.items()},
            ci95={p: r and (self._ranked_s(r[0]), self._ranked_s(r[1])) for p, r in ranks.items()},
        )

    def counts_at_most(self, bounds_s: Iterable[float]) -> list[int]:
        """For each bound how many values are at most it, for a Prometheus histogram.

        A bucket counts where its upper edge is at most the bound, so a bound may count as one 2 % lower,
        and never as a higher one. A bound of the maximum or above counts all.
        """
        return [self._at_most(bound) for bound in bounds_s]

    def _at_most(self, bound_s: float) -> int:
        if self.max_ns is None:
            return 0
        bound_ns = bound_s * _NS_PER_S
        if bound_ns >= self.max_ns:
            return self.n
        inside = sum(count for index, count in self.buckets.items() if _GROWTH**index <= bound_ns)
        return inside + (self.not_positive if bound_ns >= 0 else 0)

    def _ranked_s(self, rank: int) -> float:
        """The value with this 1-based rank, within 1 %; the two extremes are exact."""
        low, high = self._edges_ns(rank)
        if low == high:
            return low / _NS_PER_S
        index = self._index(rank)
        assert index is not None  # values up to 0 have no width
        middle = 2 * _GROWTH**index / (_GROWTH + 1)
        return min(max(middle, low), high) / _NS_PER_S

    def _edges_ns(self, rank: int) -> tuple[float, float]:
        """Between which two values the one with this rank lies."""
        assert self.min_ns is not None  # it is asked of values only
        assert self.max_ns is not None
        if rank == self.n:
            return self.max_ns, self.max_ns
        if rank == 1:
            return self.min_ns, self.min_ns
        index = self._index(rank)
        if index is None:
            return self.min_ns, self.min_ns
        return max(_GROWTH ** (index - 1), self.min_ns), min(_GROWTH**index, self.max_ns)

    def _index(self, rank: int) -> int | None:
        """The bucket of the value with this rank; None for one up to 0."""
        seen = self.not_positive
        if rank <= seen:
            return None
        for index in sorted(self.buckets):
            seen += self.buckets[index]
            if rank <= seen:
                return index
        raise ValueError(f"rank {rank} of {self.n} values")

    def to_wire(self) -> dict[str, Any]:
        """A small JSON document: buckets as `[step from the last index, count, step, count, ...]`."""
        ordered = sorted(self.buckets.items())
        steps = [index - before for before, index in pairwise([0, *(index for index, _ in ordered)])]
        flat = [number for step, (_, count) in zip(steps, ordered, strict=True) for number in (step, count)]
        return {
            "schema": WIRE_SCHEMA,
            "error": RELATIVE_ERROR,
            "n": self.n,
            "sum_ns": self.sum_ns,
            "min_ns": self.min_ns,
            "max_ns": self.max_ns,
            "not_positive": self.not_positive,
            "buckets": flat,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Histogram:
        """Read `to_wire`. Raises: ValueError for another schema or error, for these do not merge."""
        found = (wire.get("schema"), wire.get("error"))
        if found != (WIRE_SCHEMA, RELATIVE_ERROR):
            raise ValueError(
                f"a histogram of schema {found[0]} and error {found[1]} does not merge with schema"
                f" {WIRE_SCHEMA} and error {RELATIVE_ERROR}; run the same version in every process"
            )
        flat, index, buckets = wire["buckets"], 0, Counter[int]()
        for step, count in zip(flat[::2], flat[1::2], strict=True):
            index += step
            buckets[index] = count
        return cls(wire["n"], wire["sum_ns"], wire["min_ns"], wire["max_ns"], wire["not_positive"], buckets)


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """One histogram of all; the others stay as they are."""
    total = Histogram()
    for histogram in histograms:
        total.merge(histogram)
    return total


def _bucket(ns: int) -> int:
    return math.ceil(math.log(ns) / _LOG_GROWTH)
