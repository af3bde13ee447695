"""The measuring window and the request rates within it.

Owns: from when to when a run is measured, and requested, scheduled and achieved rate. Knows nothing
about latencies. Ramp-up and drain are inside the window here; `steady.py` leaves them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.records import RequestRecord
from loadgen.stats.plan import RunPlan

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests per second: asked for, in the timetable, sent. None where there is no such rate."""

    requested_per_s: float | None
    scheduled_per_s: float | None
    achieved_per_s: float | None


def start_ns(records: Sequence[RequestRecord], plan: RunPlan) -> int:
    """When the measured phase begins: as planned, else at its first intended (closed loop: sent) request.

    `records` are the measured phase's and not empty.
    """
    if plan.start_ns is not None:
        return plan.start_ns
    return min(
        record.t_sent_ns if record.t_intended_ns is None else record.t_intended_ns for record in records
    )


def window_s(records: Sequence[RequestRecord], plan: RunPlan) -> float | None:
    """From the planned start of the measured phase, or its first intended or sent request, to the last end.

    None if that has no length.
    """
    if not records:
        return None
    length = (max(record.t_end_ns for record in records) - start_ns(records, plan)) / _NS_PER_S
    return length if length > 0 else None


def rates(records: Sequence[RequestRecord], plan: RunPlan) -> Rates:
    """The three rates of the measured phase; of an open loop, those of its arrivals without later turns.

    With a planned duration: intended / duration, and sent / (duration, or the time sending took if that
    was longer). Without one: (n - 1) / (last - first) of the intended and of the sent stamps.
    """
    arrived = arrivals(records, plan)
    if not arrived:
        return Rates(plan.rate_per_s, None, None)
    sent = [record.t_sent_ns for record in arrived]
    if not plan.duration_s:
        intended = [record.t_intended_ns for record in arrived if record.t_intended_ns is not None]
        return Rates(plan.rate_per_s, _spacing_rate(intended), _spacing_rate(sent))
    sending_s = max(plan.duration_s, (max(sent) - start_ns(records, plan)) / _NS_PER_S)
    planned = planned_arrivals(plan)
    scheduled = planned / plan.duration_s if planned is not None and not plan.closed else None
    return Rates(plan.rate_per_s, scheduled, len(sent) / sending_s)


def arrivals(records: Sequence[RequestRecord], plan: RunPlan) -> Sequence[RequestRecord]:
    """The requests whose time does not hang on an answer before."""
    return [record for record in records if record.index not in plan.follow_ups]


def planned_arrivals(plan: RunPlan) -> int | None:
    """How many of them there were to be; None for a closed loop that runs for a duration."""
    return None if plan.intended is None else plan.intended - len(plan.follow_ups)


def _spacing_rate(stamps_ns: Sequence[int]) -> float | None:
    """(n - 1) / (last - first); None for fewer than two moments."""
    span_ns = max(stamps_ns) - min(stamps_ns) if stamps_ns else 0
    return (len(stamps_ns) - 1) * _NS_PER_S / span_ns if span_ns else None
