"""Whether side B is worse than side A by more than chance and more than matters.

Owns: the verdict on each metric and on the whole. Knows nothing about files, workload files or how a
comparison is shown. Whether two sides may be compared at all is decided before.

A metric is `worse` where the change for the worse is above its floor and above chance; chance is an
interval so wide that with all metrics together two equal sides have a false `worse` in at most one
comparison of twenty (Bonferroni). It is `same` or `better` where a change for the worse as large as its
limit is excluded with 95 % confidence; a comparison passes only if every metric does, which needs no
correction for their number (Berger, Technometrics 24 (1982) 295). In between it is `inconclusive`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadgen.stats.bootstrap import RESAMPLES, Blocked, block_length, differences, tail_interval
from loadgen.stats.correlation import correlation_time
from loadgen.stats.differences import Interval, around, of_means, of_pairs, of_ratios, possible
from loadgen.stats.metrics import Metric
from loadgen.stats.sides import Run, hits, latencies, paired_hits, throughput_parts, value

FALSE_ALARM = 0.05
"""Probability of any false `worse` in a comparison of two equal sides, and of a false pass."""
Verdict = Literal["worse", "better", "same", "inconclusive", "not judged"]


@dataclass(frozen=True, slots=True)
class Change:
    """A metric on both sides; the intervals are of b - a."""

    metric: Metric
    a: float | None
    b: float | None
    verdict: Verdict
    why: str
    interval: Interval | None = None
    """90 %: each end is exceeded with 5 %."""
    wide: Interval | None = None
    """What `worse` is judged by, wider the more metrics there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How sides are compared. `paired`: both ran the same timetable."""

    metrics: tuple[Metric, ...]
    paired: bool = True
    seed: int = 1
    resamples: int = RESAMPLES

    @property
    def tails(self) -> tuple[float, float]:
        """What the two intervals leave out at each end."""
        return FALSE_ALARM, FALSE_ALARM / max(1, len(self.metrics))


def compare(a: Sequence[Run], b: Sequence[Run], settings: Settings) -> list[Change]:
    """Judge each metric of B against A. Each side has one run or more.

    With two runs or more on both sides, the differences between runs of one side are what chance is
    measured by (Welch); with one, those between its requests are, and nothing is known of what
    changes from run to run: the floors alone stand against that.
    """
    return [_change(metric, a, b, settings) for metric in settings.metrics]


def overall(changes: Sequence[Change]) -> Literal["regression", "no regression", "inconclusive"]:
    """The verdict on the whole; metrics that were not judged have no say, and none at all is no pass."""
    verdicts = {change.verdict for change in changes} - {"not judged"}
    if "worse" in verdicts:
        return "regression"
    return "inconclusive" if "inconclusive" in verdicts or not verdicts else "no regression"


def _change(metric: Metric, a: Sequence[Run], b: Sequence[Run], settings: Settings) -> Change:
    first, second = value(metric, a), value(metric, b)
    if first is None or second is None:
        return Change(metric, first, second, "not judged", _missing(metric, a, b))
    if min(len(a), len(b)) > 1:
        intervals = [_between_runs(metric, a, b, tail) for tail in settings.tails]
    elif metric.kind == "latency":
        intervals = _between_requests(metric, a, b, settings)
    elif metric.kind == "ratio" and settings.paired and len(a) == len(b):
        intervals = [_of_pairs(metric, a[0], b[0], tail) for tail in settings.tails]
    elif metric.kind == "ratio":
        intervals = [_of_ratios(metric, a, b, tail) for tail in settings.tails]
    else:
        parts = throughput_parts(a), throughput_parts(b)
        intervals = [of_means(*parts, tail) for tail in settings.tails]
    interval, wide = intervals
    if interval is None or wide is None:
        return Change(metric, first, second, "not judged", "too few samples for an interval", interval)
    return Change(metric, first, second, *_verdict(metric, first, second, interval, wide), interval, wide)


def _verdict(metric: Metric, a: float, b: float, interval: Interval, wide: Interval) -> tuple[Verdict, str]:
    worse = a - b if metric.higher_is_better else b - a
    most = -interval[0] if metric.higher_is_better else interval[1]
    least, best = (-wide[1], -wide[0]) if metric.higher_is_better else wide
    if least > 0 and worse > metric.floor(a):
        return "worse", "more than chance and more than the floor"
    if best < 0 and -worse > metric.floor(a):
        return "better", "more than chance and more than the floor"
    if most < metric.limit(a):
        return "same", "a change for the worse by its limit is excluded"
    return "inconclusive", "a change for the worse by its limit is not excluded: measure more requests"


def _missing(metric: Metric, a: Sequence[Run], b: Sequence[Run]) -> str:
    if metric.name == "goodput":
        return "no SLO was given"
    if metric.kind == "latency":
        n = min(sum(len(latencies(metric, run)) for run in side) for side in (a, b))
        return f"n of {n} is too small for a p{metric.percent}"
    return "not known of every run"


def _between_requests(
    metric: Metric, a: Sequence[Run], b: Sequence[Run], settings: Settings
) -> list[Interval | None]:
    assert metric.percent is not None  # a latency
    series = [[latencies(metric, run) for run in side] for side in (a, b)]
    indices = sorted({index for side in series for run in side for index, _ in run})
    places = {index: place for place, index in enumerate(indices)}
    longest = max(correlation_time([v for _, v in run]) for side in series for run in side)
    length = block_length(len(places), longest)
    before, after = (
        Blocked.of([(places[index], v) for run in side for index, v in run], length) for side in series
    )
    (found,) = differences(
        before,
        after,
        [metric.percent],
        blocks=-(-len(places) // length),
        paired=settings.paired,
        seed=settings.seed,
        resamples=settings.resamples,
    )
    return [tail_interval(found, tail) for tail in settings.tails]


def _of_pairs(metric: Metric, a: Run, b: Run, tail: float) -> Interval | None:
    found = paired_hits(metric, a, b)
    if found is None:
        return None
    went = [after - before for before, after in zip(*found, strict=True)]
    return of_pairs(*found, tail, correlation_time=correlation_time(went))


def _of_ratios(metric: Metric, a: Sequence[Run], b: Sequence[Run], tail: float) -> Interval | None:
    """Of the runs' requests together, counted as fewer by their correlation time."""
    sums = []
    for side in (a, b):
        known = [series for run in side if (series := hits(metric, run)) is not None]
        longest = max((correlation_time(series) for series in known), default=1.0)
        sums.append((sum(map(sum, known)) / longest, sum(map(len, known)) / longest))
    return of_ratios(sums[0], sums[1], tail)


def _between_runs(metric: Metric, a: Sequence[Run], b: Sequence[Run], tail: float) -> Interval | None:
    sides = [[v for run in side if (v := value(metric, [run])) is not None] for side in (a, b)]
    if [len(side) for side in sides] != [len(a), len(b)]:
        return None
    welch = of_means(sides[0], sides[1], tail)
    if metric.kind != "ratio":
        return welch
    either = around(welch, _of_ratios(metric, a, b, tail))
    return possible(*either) if either is not None else None
