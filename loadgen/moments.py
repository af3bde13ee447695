"""The moments of a run that somebody may want to know of while it goes on: begin, stages, end.

Owns: when each comes, as far as the figures of the run tell, and its words. Pure: time comes in. Knows
nothing about who is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from loadgen.live_view import View
from loadgen.records import Planned
from loadgen.workload import Workload
from loadgen.workload_arrivals import Stage, Stages
from serving.config.units import format_duration

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """One of them, in Unix time; the end is told with the time that the run took."""

    kind: Literal["begin", "stage", "end"]
    text: str
    at_s: float
    until_s: float | None = None


@dataclass(slots=True)
class Moments:
    """Those of one run: `begin` once, `seen` with all new figures, `ended` once."""

    name: str
    target: str
    warmups: int
    """Requests before the measured ones."""
    first_s: float
    """When the first measured request is meant to be sent, after the begin of the measured part."""
    stages: list[tuple[float, str]]
    """When each begins after that, and its words."""
    _began_s: float = 0.0
    _sent_s: float | None = None
    _measured: bool = False

    @classmethod
    def of(cls, workload: Workload, target: str, timetable: Iterable[Planned]) -> Moments:
        """Those of a prepared run."""
        warmups, first_ns = 0, None
        for planned in timetable:
            if planned.phase == "warmup":
                warmups += 1
            elif first_ns is None:
                first_ns = planned.t_intended_ns or 0
        return cls(workload.name, target, warmups, (first_ns or 0) / NS, list(_stages(workload)))

    def begin(self, now_s: float) -> Moment:
        """The sending begins, with the warm-up."""
        self._began_s = now_s
        return Moment("begin", f"load {self.name} begins: {self.target}", now_s)

    def seen(self, figures: View, now_s: float) -> Iterator[Moment]:
        """Stages that have begun, about a second late: so old may the figures be that tell the first."""
        if not self._measured and figures["sent"] > self.warmups:
            self._measured = True
            start_s = now_s - self.first_s
            self.stages = [(start_s + after_s, text) for after_s, text in self.stages]
        while self._measured and self.stages and self.stages[0][0] <= now_s:
            at_s, text = self.stages.pop(0)
            yield Moment("stage", f"load {self.name}: {text}", at_s)

    def sent(self, now_s: float) -> None:
        """The last answer has come; the summary is made after that."""
        self._sent_s = now_s

    def ended(self, summary: Mapping[str, Any] | None, now_s: float) -> Moment:
        """The end, and what came of it; without a summary nothing did."""
        what = "ended without a summary" if summary is None else _outcome(summary)
        return Moment("end", f"load {self.name} {what}", self._began_s, self._sent_s or now_s)


def _stages(workload: Workload) -> Iterator[tuple[float, str]]:
    """Each stage's begin, after that of the measured part, and its words."""
    if not isinstance(workload.arrival, Stages):
        return
    stages = workload.arrival.stages
    begins = accumulate((stage.duration for stage in stages), initial=0.0)
    for number, (stage, begin_s) in enumerate(zip(stages, begins, strict=False), start=1):
        load, took = _load(stage), format_duration(stage.duration)
        yield begin_s, f"stage {number} of {len(stages)}, {load} for {took}"


def _load(stage: Stage) -> str:
    if stage.concurrency is not None:
        return f"{stage.concurrency} at once"
    first, last = stage.rates
    return f"{first:g}/s" if first == last else f"{first:g}/s to {last:g}/s"


def _outcome(summary: Mapping[str, Any]) -> str:
    requests = summary["requests"]
    counts = ", ".join(f"{requests[name]} {name}" for name in ("ok", "failed", "cut") if requests[name])
    return f"ended: {counts or 'nothing was sent'}" + ("" if summary["valid"] else " (not valid)")
