"""Small tables of parts of a run: by kind of prompt and by stage.

Owns: who belongs to which part, and the columns. Knows nothing about the whole run's summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats import definitions
from loadgen.stats.goodput import goodput
from loadgen.stats.plan import RunPlan, Stage
from loadgen.stats.quantiles import distribution
from loadgen.stats.saturation import piled_up
from loadgen.stats.steady import Span, in_flight_mean

_NS_PER_S = 1_000_000_000


def outcomes(records: Sequence[RequestRecord]) -> dict[str, int]:
    """How many went how."""
    counts = Counter(record.outcome for record in records)
    return {"ok": counts["ok"], "failed": counts["failed"], "cut": counts["cut"]}


def by_kind(measured: Sequence[RequestRecord], plan: RunPlan) -> dict[str, dict[str, Any]]:
    """A table for each kind of prompt; `intended` is null where only what was sent is known."""
    kinds = sorted({record.kind for record in measured} | set(plan.intended_by_kind))
    return {
        kind: {
            "intended": plan.intended_by_kind.get(kind),
            **_table(
                [record for record in measured if record.kind == kind],
                plan,
                intended=plan.intended_by_kind.get(kind),
            ),
        }
        for kind in kinds
    }


def by_stage(measured: Sequence[RequestRecord], plan: RunPlan, *, start_ns: int) -> list[dict[str, Any]]:
    """A table for each stage, of the requests intended (closed: sent) in it, whenever they ended."""
    tables = []
    for stage, span in stage_spans(plan, start_ns=start_ns):
        inside = [
            record
            for record in measured
            if span.holds(record.t_sent_ns if record.t_intended_ns is None else record.t_intended_ns)
        ]
        growing = None
        if stage.rates is not None and stage.rates[0] == stage.rates[1]:
            growing = asdict(piled_up(measured, span))
        tables.append(
            {
                "from_s": (span.start_ns - start_ns) / _NS_PER_S,
                "to_s": (span.end_ns - start_ns) / _NS_PER_S,
                "rate": None if stage.rates is None else {"from": stage.rates[0], "to": stage.rates[1]},
                "concurrency": stage.concurrency,
                "sent_per_s": len(inside) / stage.duration_s,
                "in_flight_mean": in_flight_mean(measured, span),
                "saturation": growing,
                **_table(inside, plan, intended=None),
            }
        )
    return tables


def stage_spans(plan: RunPlan, *, start_ns: int) -> Iterator[tuple[Stage, Span]]:
    """Each stage with its time on the records' clock."""
    lengths = [round(stage.duration_s * _NS_PER_S) for stage in plan.stages]
    for stage, length, end in zip(plan.stages, lengths, accumulate(lengths), strict=True):
        yield stage, Span(start_ns + end - length, start_ns + end)


def _table(records: Sequence[RequestRecord], plan: RunPlan, *, intended: int | None) -> dict[str, Any]:
    ok = [record for record in records if record.outcome == "ok"]
    wanted = max(len(records), intended or 0)
    return {
        "sent": len(records),
        **outcomes(records),
        "goodput_ratio": goodput(records, intended=wanted, slo=plan.slo).ratio,
        "prompt_tokens": distribution(record.prompt_tokens for record in ok).mean,
        "output_tokens": distribution(record.output_tokens for record in ok).mean,
        "ttft_s": distribution(map(definitions.ttft_s, ok)).as_dict(),
        "tpot_s": distribution(map(definitions.tpot_s, ok)).as_dict(),
        "e2e_s": distribution(map(definitions.e2e_s, ok)).as_dict(),
    }
