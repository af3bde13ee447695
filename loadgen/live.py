"""What a run has come to so far: counts and histograms by kind of prompt, which add up over workers.

Owns: the tallies that the terminal line, the web tab, the exporter and the workers' reports are made
from. Knows nothing about how they are shown or sent. The summary is not made from these: it has the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats.definitions import e2e_s, itl_gaps_s, schedule_lag_s, tpot_s, ttft_s
from loadgen.stats.goodput import verdicts
from loadgen.stats.histogram import Histogram
from loadgen.stats.plan import Slo

COUNTS = ("ok", "failed", "cut", "good", "output_tokens")
LATENCIES = ("ttft", "tpot", "itl", "e2e", "lag")


@dataclass(slots=True)
class Tally:
    """Measured requests that have ended, of one kind or of all."""

    ok: int = 0
    failed: int = 0
    cut: int = 0
    good: int = 0
    """Met every objective; 0 where none is asked for."""
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
        """Good of ended ones; None of nothing. The summary's is of all intended ones."""
        return self.good / self.ended if self.ended else None

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
    by_kind: dict[str, Tally] = field(default_factory=dict)

    def add(self, kind: str, tally: Tally) -> None:
        """Take in more of one kind."""
        self.by_kind.setdefault(kind, Tally()).merge(tally)

    def merge(self, other: Live) -> None:
        """Add another process's, exactly."""
        self.sent += other.sent
        self.in_flight += other.in_flight
        self.unread += other.unread
        self.warmup += other.warmup
        for kind, tally in other.by_kind.items():
            self.add(kind, tally)

    def total(self) -> Tally:
        """All kinds together."""
        total = Tally()
        for tally in self.by_kind.values():
            total.merge(tally)
        return total

    def to_wire(self) -> dict[str, Any]:
        """As a JSON document."""
        counts = {name: getattr(self, name) for name in ("sent", "in_flight", "unread", "warmup")}
        return counts | {"by_kind": {kind: tally.to_wire() for kind, tally in self.by_kind.items()}}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Live:
        """Read `to_wire`. Raises: KeyError, ValueError on what another version wrote."""
        by_kind = {kind: Tally.from_wire(tally) for kind, tally in wire["by_kind"].items()}
        return cls(wire["sent"], wire["in_flight"], wire["unread"], wire["warmup"], by_kind)


def together(lives: Mapping[Any, Live]) -> Live:
    """One of all; the others stay as they are."""
    whole = Live()
    for live in lives.values():
        whole.merge(live)
    return whole
