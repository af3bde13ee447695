"""Whether an open loop asked for more than the server gives: then requests pile up for as long as it runs.

Owns: the verdict and its evidence. Knows nothing about the server's own metrics. A closed loop cannot
pile up, for it waits for its answers, and a load whose rate changes is not judged as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from loadgen.records import RequestRecord
from loadgen.stats.definitions import ttft_s
from loadgen.stats.plan import RunPlan
from loadgen.stats.steady import Span, in_flight_mean
from loadgen.stats.trend import Trend, upward

BLOCKS = 10
"""Equal parts of the steady span whose means are tested."""
SMALLEST_N = 3 * BLOCKS
"""Requests below which nothing is said."""
FALSE_ALARM = 0.01
"""Probability that a span without a trend has one by the test alone."""
LEAST_GROWTH = 0.5
"""Growth over the span / median in flight, below which a trend is too small to matter: a load that
piles up from an empty server grows by twice its median."""
LEAST_GROWTH_REQUESTS = 2.0

Verdict = Literal["steady", "growing", "unknown"]


@dataclass(frozen=True, slots=True)
class Saturation:
    """The verdict and what it rests on; None where there were too few requests to tell."""

    verdict: Verdict
    in_flight_growth: float | None = None
    """Requests in flight at the end of the span more than at its start, along Theil and Sen's line."""
    in_flight_p: float | None = None
    ttft_growth_s: float | None = None
    ttft_p: float | None = None
    arrived_per_s: float | None = None
    ended_per_s: float | None = None
    """Below `arrived_per_s` by what piled up."""


def saturation(records: Sequence[RequestRecord], plan: RunPlan, span: Span | None) -> Saturation | None:
    """Judge the measured phase's records within the steady span; None where no one rate holds throughout."""
    if not plan.even:
        return None
    return Saturation("unknown") if span is None else piled_up(records, span)


def piled_up(records: Sequence[RequestRecord], span: Span) -> Saturation:
    """Judge a span in which one rate holds.

    It is growing where the mean in flight of ten equal parts of the span goes up (Mann and Kendall,
    p <= 0.01) by at least half of its median and two requests. TTFT and the two rates are told beside it.
    """
    arrived = sum(r.t_intended_ns is not None and span.holds(r.t_intended_ns) for r in records)
    ended = sum(span.holds(record.t_end_ns) for record in records)
    rates = {"arrived_per_s": arrived / span.length_s, "ended_per_s": ended / span.length_s}
    if arrived < SMALLEST_N:
        return Saturation("unknown", **rates)
    parts = span.parts(BLOCKS)
    flying = [in_flight_mean(records, part) for part in parts]
    trend, ttft = upward(flying), _ttft(records, parts)
    least = max(LEAST_GROWTH_REQUESTS, LEAST_GROWTH * median(flying))
    return Saturation(
        "growing" if trend.p <= FALSE_ALARM and trend.growth >= least else "steady",
        in_flight_growth=trend.growth,
        in_flight_p=trend.p,
        ttft_growth_s=ttft.growth if ttft else None,
        ttft_p=ttft.p if ttft else None,
        **rates,
    )


def _ttft(records: Sequence[RequestRecord], parts: Sequence[Span]) -> Trend | None:
    """The trend of the parts' median TTFT; None if fewer than half of them have one."""
    medians = []
    for part in parts:
        values = [v for r in records if part.holds(r.t_sent_ns) and (v := ttft_s(r)) is not None]
        if values:
            medians.append(median(values))
    return upward(medians) if len(medians) >= len(parts) // 2 else None
