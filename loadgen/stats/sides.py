"""The two sides of a comparison, and a metric's value on one of them.

Owns: who is counted in a side's value. Knows nothing about intervals or verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from loadgen.records import RequestRecord
from loadgen.stats.goodput import is_good
from loadgen.stats.intervals import percentile_ranks
from loadgen.stats.metrics import Metric
from loadgen.stats.plan import RunPlan
from loadgen.stats.quantiles import sample_quantile
from loadgen.stats.steady import output_tokens_within, steady_span

THROUGHPUT_PARTS = 20
"""Equal parts of a run's steady span whose throughputs are taken as independent."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a side: its measured records and what was asked of it."""

    records: tuple[RequestRecord, ...]
    plan: RunPlan

    @property
    def ok(self) -> list[RequestRecord]:
        """The complete answers."""
        return [record for record in self.records if record.outcome == "ok"]

    @property
    def intended(self) -> int:
        """The requests that were wanted."""
        return max(len(self.records), self.plan.intended or 0)


def value(metric: Metric, runs: Sequence[Run]) -> float | None:
    """The side's value: over all requests of its runs, or the mean of its runs' throughputs.

    None where it is not known of every run, and a percentile also where n does not carry it.
    """
    if metric.kind == "ratio":
        series = [hits(metric, run) for run in runs]
        known = [hit for hit in series if hit is not None]
        trials = sum(map(len, known))
        return sum(map(sum, known)) / trials if trials and len(known) == len(series) else None
    if metric.kind == "throughput":
        rates = [rate for run in runs if (rate := _throughput(run)) is not None]
        return fmean(rates) if rates and len(rates) == len(runs) else None
    assert metric.percent is not None  # a latency
    values = sorted(latency for run in runs for _, latency in latencies(metric, run))
    if percentile_ranks(len(values), metric.percent) is None:
        return None
    return sample_quantile(values, metric.percent)


def latencies(metric: Metric, run: Run) -> list[tuple[int, float]]:
    """(index, value) of the complete answers that have one, in the order of the timetable."""
    assert metric.measure is not None  # a latency
    found = ((record.index, metric.measure(record)) for record in run.ok)
    return sorted((index, latency) for index, latency in found if latency is not None)


def hits(metric: Metric, run: Run) -> list[int] | None:
    """For each intended request, in the order of the timetable, whether it counts: 1 or 0.

    Requests that were never sent come last. None for a goodput without objectives.
    """
    ordered = sorted(run.records, key=lambda record: record.index)
    unsent = run.intended - len(ordered)
    if metric.name == "goodput":
        slo = run.plan.slo
        if (slo.ttft_s, slo.tpot_s, slo.e2e_s) == (None, None, None):
            return None
        return [int(is_good(record, slo)) for record in ordered] + [0] * unsent
    return [int(record.outcome != "ok") for record in ordered] + [1] * unsent


def paired_hits(metric: Metric, a: Run, b: Run) -> tuple[list[int], list[int]] | None:
    """`hits` of two runs of one timetable, request by request; None for a goodput without objectives.

    A request that one run never sent counts there as failed and as not good.
    """
    if hits(metric, a) is None or hits(metric, b) is None:
        return None
    indices = sorted({record.index for run in (a, b) for record in run.records})
    unsent = max(a.intended, b.intended, len(indices)) - len(indices)
    absent = int(metric.name != "goodput")
    sides = []
    for run in (a, b):
        by_index = dict(
            zip(sorted(record.index for record in run.records), hits(metric, run) or (), strict=False)
        )
        sides.append([by_index.get(index, absent) for index in indices] + [absent] * unsent)
    return sides[0], sides[1]


def throughput_parts(runs: Sequence[Run]) -> list[float]:
    """Output tokens/s of equal parts of the runs' steady spans."""
    spans = [(run, span) for run in runs if (span := steady_span(run.records, run.plan)) is not None]
    return [
        (output_tokens_within(run.records, part) or 0.0) / part.length_s
        for run, span in spans
        for part in span.parts(THROUGHPUT_PARTS)
    ]


def _throughput(run: Run) -> float | None:
    span = steady_span(run.records, run.plan)
    tokens = None if span is None else output_tokens_within(run.records, span)
    return None if span is None or tokens is None else tokens / span.length_s
