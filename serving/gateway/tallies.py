"""Counts and times by labels, kept as plain numbers and shown to Prometheus when it asks.

Owns: the numbers and their exposition. Knows nothing about what is counted. One thread counts and shows, so
there are no locks, which with all else made prometheus_client's own counters cost a small answer 6 % of its
processor time (docs/gateway-speed.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.facts.metrics import Metric as Row


class Count:
    """How often something happened."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        """Count it."""
        self.value += amount


class Times:
    """How long something took, by classes."""

    __slots__ = ("_bounds_s", "counts", "total_s")

    def __init__(self, bounds_s: Sequence[float]) -> None:
        self._bounds_s = bounds_s
        self.counts = [0] * (len(bounds_s) + 1)
        """One count a bound (times up to it and above the one before), and one for all longer times."""
        self.total_s = 0.0

    def observe(self, took_s: float) -> None:
        """Count one time."""
        self.counts[bisect_left(self._bounds_s, took_s)] += 1
        self.total_s += took_s

    def add(self, counts: Iterable[int], total_s: float) -> None:
        """Count what was sorted by the same bounds already."""
        for place, count in enumerate(counts):
            self.counts[place] += count
        self.total_s += total_s


class Counts(Collector):
    """One metric of counts, by labels."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._by_labels: dict[tuple[str, ...], Count] = {}

    def at(self, *labels: str) -> Count:
        """The count with these labels, from 0 on if there was none."""
        found = self._by_labels.get(labels)
        if found is None:
            found = self._by_labels[labels] = Count()
        return found

    def collect(self) -> Iterator[Metric]:
        """As Prometheus wants it."""
        family = CounterMetricFamily(self._row.name, self._row.help, labels=self._row.labels)
        for labels, count in self._by_labels.items():
            family.add_metric(labels, count.value)
        yield family


class Timings(Collector):
    """One metric of times, by labels; the bounds of its classes rise."""

    def __init__(self, row: Row, bounds_s: Sequence[float]) -> None:
        self._row = row
        self._bounds_s = bounds_s
        self._by_labels: dict[tuple[str, ...], Times] = {}

    def at(self, *labels: str) -> Times:
        """The times with these labels."""
        found = self._by_labels.get(labels)
        if found is None:
            found = self._by_labels[labels] = Times(self._bounds_s)
        return found

    def collect(self) -> Iterator[Metric]:
        """As Prometheus wants it: each bucket holds all that is not above its bound."""
        family = HistogramMetricFamily(self._row.name, self._row.help, labels=self._row.labels)
        bounds = [*(str(float(bound)) for bound in self._bounds_s), "+Inf"]
        for labels, times in self._by_labels.items():
            so_far, buckets = 0, []
            for bound, count in zip(bounds, times.counts, strict=True):
                so_far += count
                buckets.append((bound, float(so_far)))
            family.add_metric(labels, buckets, times.total_s)
        yield family
