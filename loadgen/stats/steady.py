"""The part of a run in which the load was what was asked for, and the throughput within it.

Owns: where ramp-up ends and run-down begins. Knows nothing about whether the server kept up
(`saturation.py`) or about latencies' definitions beyond calling them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from loadgen.records import RequestRecord
from loadgen.stats.definitions import e2e_s, has_tokens_by_event
from loadgen.stats.plan import RunPlan

_NS_PER_S = 1e9
_LONGEST_RAMP = 0.25
"""Of the open loop's span: what an overloaded server takes to fill must not eat the window."""


@dataclass(frozen=True, slots=True)
class Span:
    """Two moments on the records' clock, the first before the second."""

    start_ns: int
    end_ns: int

    @property
    def length_s(self) -> float:
        """Seconds between them."""
        return (self.end_ns - self.start_ns) / _NS_PER_S

    def holds(self, stamp_ns: int) -> bool:
        """Whether a moment is inside."""
        return self.start_ns <= stamp_ns < self.end_ns

    def parts(self, number: int) -> list[Span]:
        """The span cut into so many equal parts."""
        length = self.end_ns - self.start_ns
        edges = [self.start_ns + length * i // number for i in range(number + 1)]
        return [Span(start, end) for start, end in pairwise(edges)]


def steady_span(records: Sequence[RequestRecord], plan: RunPlan) -> Span | None:
    """The steady part of the measured phase; None where there is none, as where the rate changes.

    Closed loop: from when every user has sent a request to when the first has none left to send. Open
    loop: from one median E2E after the first intended request, for an empty server must fill first (at
    most a quarter of the span), to the last intended one; what is drained after that is not under load.
    """
    found = None
    if plan.arrival == "closed":
        found = _closed(records, plan.concurrency)
    elif plan.even:
        found = _open(records)
    return found if found is not None and found.start_ns < found.end_ns else None


def _closed(records: Sequence[RequestRecord], users: int | None) -> Span | None:
    sent = sorted(record.t_sent_ns for record in records)
    if not users or len(sent) < users:
        return None
    end = min((record.t_end_ns for record in records if record.t_end_ns > sent[-1]), default=sent[-1])
    return Span(sent[users - 1], end)


def _open(records: Sequence[RequestRecord]) -> Span | None:
    intended = [record.t_intended_ns for record in records if record.t_intended_ns is not None]
    answers = [value for record in records if record.outcome == "ok" and (value := e2e_s(record)) is not None]
    if len(intended) < 2 or not answers:
        return None
    first, last = min(intended), max(intended)
    ramp_ns = min(median(answers) * _NS_PER_S, _LONGEST_RAMP * (last - first))
    return Span(first + round(ramp_ns), last)


def output_tokens_within(records: Iterable[RequestRecord], span: Span) -> float | None:
    """Tokens whose event came inside, of complete answers also before and after it; None if one is uncounted.

    An event whose tokens the server did not tell has the mean of its answer.
    """
    total = 0.0
    for record in records:
        if record.outcome != "ok" or not record.output_ns:
            continue
        if record.output_tokens is None:
            return None
        by_event: Sequence[float] = record.output_tokens_by_event
        if not has_tokens_by_event(record):
            by_event = [record.output_tokens / len(record.output_ns)] * len(record.output_ns)
        total += sum(t for stamp, t in zip(record.output_ns, by_event, strict=True) if span.holds(stamp))
    return total


def in_flight_mean(records: Iterable[RequestRecord], span: Span) -> float:
    """Requests in flight, averaged over the time of the span."""
    busy = sum(
        max(0, min(record.t_end_ns, span.end_ns) - max(record.t_sent_ns, span.start_ns)) for record in records
    )
    return busy / (span.end_ns - span.start_ns)
