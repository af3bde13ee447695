"""What a run has come to so far: counts and histograms by kind and stage, which add up over workers.

Owns: the tallies that the terminal line, the web tab, the exporter and the workers' reports are made
from. Knows nothing about how they are shown or sent. The summary is not made from these: it has the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats.definitions import e2e_s, itl_gaps_s, schedule_lag_s, tpot_s, ttft_s
from loadgen.stats.goodput import verdicts
from loadgen.stats.histogram import Histogram
from loadgen.stats.plan import Slo

COUNTS = ("ok", "failed", "cut", "good", "judged", "output_tokens")
LATENCIES = ("ttft", "tpot", "itl", "e2e", "lag")
Group = tuple[str, int | None]
"""A kind of prompt and a stage of the arrivals (None: the run has no stages)."""


@dataclass(slots=True)
class Tally:
    """Measured requests that have ended, of one kind or of all."""

    ok: int = 0
    failed: int = 0
    cut: int = 0
    good: int = 0
    """Met every objective."""
    judged: int = 0
    """Of which objectives were asked: all that ended, or none."""
    output_tokens: int = 0
    ttft: Histogram = field(default_factory=Histogram)
    tpot: Histogram = field(default_factory=Histogram)
    itl: Histogram = field(default_factory=Histogram)
    e2e: Histogram = field(default_factory=Histogram)
    lag: Histogram = field(default_factory=Histogram)

    @classmethod
    def of(cls, record: RequestRecord, slo: Slo) -> Tally:
        """One request; latencies are those of complete answers, the lag is everyone's."""
        made = cls()
        setattr(made, record.outcome, 1)
        _add(made.lag, schedule_lag_s(record))
        met = verdicts(record, slo)
        made.judged = int(bool(met))
        made.good = int(any(met.values()) and all(one is not False for one in met.values()))
        if record.outcome != "ok":
            return made
        made.output_tokens = record.output_tokens or 0
        _add(made.ttft, ttft_s(record))
        _add(made.tpot, tpot_s(record))
        _add(made.e2e, e2e_s(record))
        for gap in itl_gaps_s(record):
            made.itl.add(gap)
        return made

    @property
    def ended(self) -> int:
        """Requests that have ended, however."""
        return self.ok + self.failed + self.cut

    @property
    def goodput_ratio(self) -> float | None:
        """Good of ended ones; None of nothing, and without objectives. The summary's is of all intended."""
        return self.good / self.judged if self.judged else None

    def merge(self, other: Tally) -> None:
        """Add another one, exactly."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in LATENCIES:
            getattr(self, name).merge(getattr(other, name))

    def to_wire(self) -> dict[str, Any]:
        """As a JSON document."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return counts | {name: getattr(self, name).to_wire() for name in LATENCIES}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Tally:
        """Read `to_wire`. Raises: KeyError, ValueError on what another version wrote."""
        made = cls()
        for name in COUNTS:
            setattr(made, name, wire[name])
        for name in LATENCIES:
            setattr(made, name, Histogram.from_wire(wire[name]))
        return made


def _add(histogram: Histogram, seconds: float | None) -> None:
    if seconds is not None:
        histogram.add(seconds)


@dataclass(slots=True)
class Live:
    """Everything so far, of one sending process or of several together."""

    sent: int = 0
    """Warm-up requests too."""
    in_flight: int = 0
    unread: int = 0
    """Answers that have ended and whose bytes are not read yet."""
    warmup: int = 0
    """Warm-up requests that have ended."""
    groups: dict[Group, Tally] = field(default_factory=dict)

    def add(self, group: Group, tally: Tally) -> None:
        """Take in more of one group."""
        self.groups.setdefault(group, Tally()).merge(tally)

    def merge(self, other: Live) -> None:
        """Add another process's, exactly."""
        self.sent += other.sent
        self.in_flight += other.in_flight
        self.unread += other.unread
        self.warmup += other.warmup
        for group, tally in other.groups.items():
            self.add(group, tally)

    def total(self) -> Tally:
        """All groups together."""
        return self._sum(lambda _: True)

    def by_kind(self) -> dict[str, Tally]:
        """Stages together, in the order of the kinds' names."""
        return {
            kind: self._sum(lambda group, kind=kind: group[0] == kind)  # type: ignore[misc]  # bound at once
            for kind in sorted({kind for kind, _ in self.groups})
        }

    def by_stage(self) -> dict[int | None, Tally]:
        """Kinds together, in the order of the stages."""
        return {
            stage: self._sum(lambda group, stage=stage: group[1] == stage)  # type: ignore[misc]  # bound at once
            for stage in sorted({stage for _, stage in self.groups}, key=lambda stage: stage or 0)
        }

    def _sum(self, chosen: Callable[[Group], bool]) -> Tally:
        total = Tally()
        for group, tally in self.groups.items():
            if chosen(group):
                total.merge(tally)
        return total

    def to_wire(self) -> dict[str, Any]:
        """As a JSON document."""
        counts = {name: getattr(self, name) for name in ("sent", "in_flight", "unread", "warmup")}
        return counts | {"groups": [[*group, tally.to_wire()] for group, tally in self.groups.items()]}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Live:
        """Read `to_wire`. Raises: KeyError, ValueError on what another version wrote."""
        groups = {(kind, stage): Tally.from_wire(tally) for kind, stage, tally in wire["groups"]}
        return cls(wire["sent"], wire["in_flight"], wire["unread"], wire["warmup"], groups)


def together(lives: Iterable[Live]) -> Live:
    """One of all; the others stay as they are."""
    whole = Live()
    for live in lives:
        whole.merge(live)
    return whole
