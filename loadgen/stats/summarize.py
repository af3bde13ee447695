"""Records in, summary.json out.

Owns: the keys of summary.json (docs/measurement.md explains each) and who is counted in them. Knows
nothing about files or how a summary is shown. Warm-up requests are left out of everything; latencies
are those of complete (`ok`) answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats import definitions
from loadgen.stats.clusters import clustered
from loadgen.stats.goodput import goodput
from loadgen.stats.groups import by_kind, by_stage, outcomes
from loadgen.stats.notes import notes, prefix_cache
from loadgen.stats.plan import RunPlan, ServerView
from loadgen.stats.quantiles import Distribution, distribution
from loadgen.stats.saturation import saturation
from loadgen.stats.steady import Span, in_flight_mean, output_tokens_within, steady_span
from loadgen.stats.validity import invalid_reasons
from loadgen.stats.window import rates, start_ns, window_s

SUMMARY_SCHEMA = 2
_MOST_ERRORS = 10
_LONGEST_ERROR = 300

Summary = dict[str, Any]


def summarize(
    records: Sequence[RequestRecord], *, plan: RunPlan, server: ServerView | None = None
) -> Summary:
    """Compute the document of summary.json from all records of a run, in any order.

    Requests that the plan intended and no record tells of were never sent. Numbers are unrounded
    seconds, counts and rates; null is "not known" or "n too small", never 0.
    """
    measured = [record for record in records if record.phase == "measure"]
    ok = [record for record in measured if record.outcome == "ok"]
    intended = max(len(measured), plan.intended or 0)
    window = window_s(measured, plan)
    run_rates = rates(measured, plan)
    reasons = invalid_reasons(measured, plan=plan, rates=run_rates, server=server)
    latencies = _latencies(ok, measured)
    span = steady_span(measured, plan)
    piled = saturation(measured, plan, span)
    begin_ns = start_ns(measured, plan) if measured else 0
    return {
        "schema": SUMMARY_SCHEMA,
        "valid": not reasons,
        "reasons": reasons,
        "notes": notes(ok, measured, tokens_per_chunk=_tokens_per_chunk(ok), piled=piled, server=server),
        "requests": {
            "intended": intended,
            "sent": len(measured),
            **outcomes(measured),
            "undefined_tpot": sum(map(definitions.tpot_is_undefined, ok)),
            "warmup": len(records) - len(measured),
        },
        "arrival": plan.arrival,
        "concurrency": plan.concurrency,
        "window_s": window,
        "rate": {
            "requested": run_rates.requested_per_s,
            "scheduled": run_rates.scheduled_per_s,
            "achieved": run_rates.achieved_per_s,
        },
        **{name: sample.as_dict() for name, sample in latencies.items()},
        "itl_by_token": bool(ok) and all(map(definitions.has_tokens_by_event, ok)),
        "tokens_per_chunk": _tokens_per_chunk(ok),
        "output_tokens_per_s": _per_s(_output_tokens(ok), window),
        "requests_per_s": _per_s(len(ok) if ok else None, window),
        "slo": asdict(plan.slo),
        "goodput": goodput(measured, intended=intended, slo=plan.slo).as_dict(window_s=window),
        "steady": _steady(measured, span, begin_ns),
        "saturation": None if piled is None else asdict(piled),
        "prefix_cache": prefix_cache(ok),
        "by_kind": by_kind(measured, plan),
        "by_stage": by_stage(measured, plan, start_ns=begin_ns) if measured else [],
        "errors": _errors(measured),
        "server": _server(server, latencies["ttft_s"].mean),
    }


def _latencies(ok: Sequence[RequestRecord], measured: Sequence[RequestRecord]) -> dict[str, Distribution]:
    """Every distribution of the summary. The lag is that of all sent requests, ok or not."""
    return {
        "schedule_lag_s": _each(definitions.schedule_lag_s, measured),
        "ttft_s": _each(definitions.ttft_s, ok),
        "ttft_from_intended_s": _each(definitions.ttft_from_intended_s, ok),
        "ttfo_s": _each(definitions.ttfo_s, ok),
        "tpot_s": _each(definitions.tpot_s, ok),
        "itl_s": clustered([definitions.itl_gaps_s(record) for record in ok]),
        "inter_chunk_s": clustered([definitions.inter_chunk_gaps_s(record) for record in ok]),
        "e2e_s": _each(definitions.e2e_s, ok),
    }


def _each(measure: Callable[[RequestRecord], float | None], records: Iterable[RequestRecord]) -> Distribution:
    return distribution(map(measure, records))


def _output_tokens(ok: Sequence[RequestRecord]) -> int | None:
    """All output tokens of the complete answers; None if one of them is uncounted."""
    counts = [record.output_tokens for record in ok]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _tokens_per_chunk(ok: Sequence[RequestRecord]) -> float | None:
    tokens, chunks = _output_tokens(ok), sum(len(record.output_ns) for record in ok)
    return tokens / chunks if tokens is not None and chunks else None


def _per_s(amount: float | None, window: float | None) -> float | None:
    return amount / window if amount is not None and window else None


def _steady(measured: Sequence[RequestRecord], span: Span | None, begin_ns: int) -> dict[str, Any] | None:
    """Throughput and latencies without ramp-up and run-down; None where no part of the run was steady."""
    if span is None:
        return None
    inside = [record for record in measured if span.holds(record.t_sent_ns) and record.outcome == "ok"]
    ended = sum(record.outcome == "ok" and span.holds(record.t_end_ns) for record in measured)
    return {
        "from_s": (span.start_ns - begin_ns) / 1e9,
        "to_s": (span.end_ns - begin_ns) / 1e9,
        "window_s": span.length_s,
        "in_flight_mean": in_flight_mean(measured, span),
        "requests_per_s": ended / span.length_s,
        "output_tokens_per_s": _per_s(output_tokens_within(measured, span), span.length_s),
        "ttft_s": _each(definitions.ttft_s, inside).as_dict(),
        "tpot_s": _each(definitions.tpot_s, inside).as_dict(),
        "e2e_s": _each(definitions.e2e_s, inside).as_dict(),
    }


def _errors(measured: Sequence[RequestRecord]) -> list[dict[str, Any]]:
    """The commonest error texts with their counts, most frequent first."""
    texts = Counter(
        (record.error or f"no error text, HTTP status {record.http_status}")[:_LONGEST_ERROR]
        for record in measured
        if record.error or record.outcome == "failed"
    )
    ranked = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    return [{"text": text, "count": count} for text, count in ranked[:_MOST_ERRORS]]


def _server(server: ServerView | None, client_ttft_s: float | None) -> dict[str, Any] | None:
    """The server's view, and client minus server TTFT: the residue of network, gateway and client."""
    if server is None:
        return None
    known = client_ttft_s is not None and server.ttft_mean_s is not None
    residue = (client_ttft_s or 0.0) - (server.ttft_mean_s or 0.0) if known else None
    return {
        **asdict(server),
        "cache_config": dict(server.cache_config),
        "prompt_tokens_by_source": dict(server.prompt_tokens_by_source),
        "acceptance_by_position": list(server.acceptance_by_position),
        "client_minus_server_ttft_s": residue,
    }
