"""What a gate judges by: counters at both ends of a window, and what lies between.

Owns: the shapes, and how two readings become one side of a comparison. Knows nothing about who was asked for
the numbers, or what is good. What is absent stays absent: it is never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal

from deploy.rollout.statistics import Moments, normal_point

Values = Mapping[str, float]
"""By the values of the labels that are kept apart, joined by `|`; by the empty text where none are."""
Standing = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Reading:
    """All counts of a revision at one moment (Unix seconds), by their keys in `queries.COUNTS`."""

    at_s: float
    revision: str
    counts: Mapping[str, Values]

    def to_json(self) -> dict[str, Any]:
        """The reading as a JSON document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values lie up to each bound and above the one before, and the sum of all of them."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float

    @property
    def n(self) -> float:
        """How many values."""
        return math.fsum(self.counts)

    def moments(self) -> Moments:
        """The mean is exact; the deviation is that of values spread evenly within their buckets."""
        n = self.n
        if n == 0:
            return Moments(0.0, 0.0, 0.0)
        first, second, low = 0.0, 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            high = bound if math.isfinite(bound) else max(2 * low, 1.0)
            first += count * (low + high) / 2
            second += count * (low * low + low * high + high * high) / 3
            low = high
        variance = max(0.0, second / n - (first / n) ** 2)
        return Moments(n, self.total / n, math.sqrt(variance))

    def above(self, bound: float) -> float:
        """How many values are above one of the bounds."""
        return math.fsum(count for at, count in zip(self.bounds, self.counts, strict=True) if at > bound)

    def quantile(self, q: float) -> float | None:
        """Where a share of q lies below, taken as even within a bucket; None of nothing."""
        wanted, so_far, low = q * self.n, 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            if count and so_far + count >= wanted:
                return low + (bound - low) * (wanted - so_far) / count if math.isfinite(bound) else low
            so_far, low = so_far + count, bound
        return None

    def around_quantile(self, q: float, tail: float) -> tuple[float, float, float] | None:
        """A quantile between its limits, which leave out `tail` each; None where values are too few for them.

        The limits are the quantiles at the limits of the share that lies below (Woodruff, JASA 47 (1952)
        635-646). They know nothing of how wide a bucket is.
        """
        n = self.n
        half = normal_point(tail) * math.sqrt(q * (1 - q) / n) if n else 1.0
        if not half < min(q, 1 - q):
            return None
        low, middle, high = (self.quantile(share) for share in (q - half, q, q + half))
        return None if low is None or middle is None or high is None else (low, middle, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one revision did within a window. A histogram is None where nobody told one."""

    revision: str
    requests: Values = field(default_factory=dict)
    """By `path|outcome`, of requests that make an engine work."""
    failed_tries: float = 0.0
    judged: Values = field(default_factory=dict)
    """By `slo|met`."""
    first_byte: Histogram | None = None
    tpot: Histogram | None = None
    finished: Values = field(default_factory=dict)
    """By reason, as engines tell."""
    prompt_tokens: Histogram | None = None
    asked_tokens: Histogram | None = None
    """`max_tokens` of requests."""
    answer_tokens: Histogram | None = None
    engines: Mapping[str, Side] = field(default_factory=dict)
    """What each of its engines did of that, as the gateway saw it; only those that had requests."""

    @property
    def n(self) -> int:
        """Requests that ended, however."""
        return round(math.fsum(self.requests.values()))

    def ended(self, *outcomes: str) -> int:
        """Requests that ended in one of these ways."""
        return round(math.fsum(n for key, n in self.requests.items() if key.rpartition("|")[2] in outcomes))

    def missed(self, slo: str) -> tuple[int, int]:
        """Requests that missed an objective, and those that were judged by it."""
        missed, met = (round(self.judged.get(f"{slo}|{word}", 0.0)) for word in ("false", "true"))
        return missed, missed + met


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the canary's engines are. `None`: not known."""

    failures: float | None
    """How often they crashed, hung or could not be proven since they were started."""
    ready: int | None
    engines: int
    unwell: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with which engine, in words."""
    modes: Mapping[str, bool | None] = field(default_factory=dict)
    """Those asked for, and whether each is in effect."""
    memory_bytes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Of each engine, evenly over the window, oldest first."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What the comparison of answers said (`deploy/study/quality_compare.judge`)."""

    outcome: Standing
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that one look sees. The window is in Unix seconds."""

    start_s: float
    end_s: float
    canary: Side
    baseline: Side | None
    """None: there never was one."""
    concurrent: bool
    """Whether the baseline had its requests at the same time. If not, its latencies say nothing."""
    parts: tuple[tuple[Side, Side], ...] = ()
    """Both in each part of the window, one after the other; also where the baseline gets no requests."""
    health: Health
    targets: Values = field(default_factory=dict)
    """The share of requests that is to meet each objective, by its name."""
    quality: Quality | None = None
    """None: not asked for."""


class Broken(ValueError):
    """Counters went backwards within the window: something was started anew, and it has to begin again."""


def side(start: Reading, end: Reading) -> Side:
    """What happened between two readings of a revision. A counter that was not there yet counts from 0.

    Raises: Broken.
    """
    counted = {key: _difference(start, end, key) for key in end.counts if key not in GAUGES}
    return Side(
        revision=end.revision,
        engines=_engines(counted),
        requests=counted.get("requests", {}),
        failed_tries=math.fsum(counted.get("failed_tries", {}).values()),
        judged=counted.get("judged", {}),
        finished=counted.get("finished", {}),
        **{name: _histogram(counted, name) for name in HISTOGRAMS},
    )


def parts(readings: Sequence[tuple[Reading, Reading]]) -> tuple[tuple[Side, Side], ...]:
    """What canary and baseline did from one pair of readings to the next, oldest first.

    At most `PARTS` of about the same length: longer ones depend on each other less. Raises: Broken.
    """
    every = -(-(len(readings) - 1) // PARTS) if len(readings) > 1 else 1
    kept = [*readings[:-1:every], *readings[-1:]]
    return tuple((side(a[0], b[0]), side(a[1], b[1])) for a, b in pairwise(kept))


PARTS = 20
NO_ENGINE = "none"
"""What the gateway says for a request that was refused before it had any."""
HISTOGRAMS = ("first_byte", "tpot", "prompt_tokens", "asked_tokens", "answer_tokens")
GAUGES = ("ready", "targets", "memory", "failures")
"""Read as they are at the end. Failures are among them: every one since the engine's start counts."""


def _difference(start: Reading, end: Reading, key: str) -> dict[str, float]:
    before = start.counts.get(key, {})
    found = {labels: value - before.get(labels, 0.0) for labels, value in end.counts[key].items()}
    if any(value < 0 for value in found.values()) or not before.keys() <= found.keys():
        raise Broken(f"{key} of {end.revision} went backwards between {start.at_s:.0f} and {end.at_s:.0f}")
    return found


def _engines(counted: Mapping[str, Values]) -> dict[str, Side]:
    """Of the counts by engine, each engine's as a side of its own."""
    urls = {key.partition("|")[0] for key in counted.get("engine_requests", {})} - {NO_ENGINE}
    found = {}
    for url in sorted(urls):
        mine = {
            name.removeprefix("engine_"): _of_engine(values, url)
            for name, values in counted.items()
            if name.startswith("engine_")
        }
        found[url] = Side(
            revision=url,
            requests=mine.get("requests", {}),
            failed_tries=math.fsum(mine.get("failed_tries", {}).values()),
            first_byte=_histogram(mine, "first_byte"),
            tpot=_histogram(mine, "tpot"),
        )
    return found


def _of_engine(values: Values, url: str) -> Values:
    keys = {key: key.partition("|") for key in values}
    return {rest: values[key] for key, (engine, _, rest) in keys.items() if engine == url}


def _histogram(counted: Mapping[str, Values], name: str) -> Histogram | None:
    buckets = sorted((float(bound), count) for bound, count in counted.get(f"{name}_bucket", {}).items())
    if not buckets:
        return None
    cumulative = [0.0, *(count for _, count in buckets)]
    counts = tuple(max(0.0, b - a) for a, b in pairwise(cumulative))
    total = math.fsum(counted.get(f"{name}_sum", {}).values())
    return Histogram(tuple(bound for bound, _ in buckets), counts, total)
