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
from loadgen.stats.goodput import goodput
from loadgen.stats.plan import RunPlan, ServerView
from loadgen.stats.quantiles import Distribution, distribution
from loadgen.stats.validity import invalid_reasons
from loadgen.stats.window import rates, window_s

SUMMARY_SCHEMA = 1
CHUNK_IS_NOT_TOKEN = 1.2
"""Tokens per chunk above which an inter-chunk gap must not be read as ITL."""
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
    return {
        "schema": SUMMARY_SCHEMA,
        "valid": not reasons,
        "reasons": reasons,
        "notes": _notes(ok, measured, server=server),
        "requests": {
            "intended": intended,
            "sent": len(measured),
            **_outcomes(measured),
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
        "by_kind": _by_kind(measured),
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
        "itl_s": distribution(gap for record in ok for gap in definitions.itl_gaps_s(record)),
        "inter_chunk_s": distribution(gap for record in ok for gap in definitions.inter_chunk_gaps_s(record)),
        "e2e_s": _each(definitions.e2e_s, ok),
    }


def _each(measure: Callable[[RequestRecord], float | None], records: Iterable[RequestRecord]) -> Distribution:
    return distribution(map(measure, records))


def _outcomes(records: Sequence[RequestRecord]) -> dict[str, int]:
    counts = Counter(record.outcome for record in records)
    return {"ok": counts["ok"], "failed": counts["failed"], "cut": counts["cut"]}


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


def _by_kind(measured: Sequence[RequestRecord]) -> dict[str, dict[str, Any]]:
    """Small tables by kind of prompt. A request that was never sent has no record and so no kind."""
    tables: dict[str, dict[str, Any]] = {}
    for kind in sorted({record.kind for record in measured}):
        of_kind = [record for record in measured if record.kind == kind]
        ok = [record for record in of_kind if record.outcome == "ok"]
        tables[kind] = {
            "sent": len(of_kind),
            **_outcomes(of_kind),
            "prompt_tokens": distribution(record.prompt_tokens for record in ok).mean,
            "output_tokens": distribution(record.output_tokens for record in ok).mean,
            "ttft_s": _each(definitions.ttft_s, ok).as_dict(),
            "tpot_s": _each(definitions.tpot_s, ok).as_dict(),
            "e2e_s": _each(definitions.e2e_s, ok).as_dict(),
        }
    return tables


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
        "client_minus_server_ttft_s": residue,
    }


def _notes(
    ok: Sequence[RequestRecord], measured: Sequence[RequestRecord], *, server: ServerView | None
) -> list[str]:
    """What a reader of the numbers must know and what does not make them wrong."""
    notes: list[str] = []
    if ok and not all(map(definitions.has_tokens_by_event, ok)):
        notes.append("ITL equals the inter-chunk gap: the server did not tell tokens by event")
    tokens_per_chunk = _tokens_per_chunk(ok)
    if tokens_per_chunk is not None and tokens_per_chunk > CHUNK_IS_NOT_TOKEN:
        notes.append(f"{tokens_per_chunk:.2f} tokens per chunk: inter-chunk gaps are not ITL")
    silent = sum(definitions.ttft_s(record) is None for record in ok)
    if silent:
        notes.append(f"{silent} complete answers held no output event and are in no latency")
    cut = sum(record.outcome == "cut" for record in measured)
    if cut:
        notes.append(f"{cut} requests were cut at the end: long answers are missing from the latencies")
    retokenized = sum(record.output_tokens_source == "tokenizer" for record in ok)
    if retokenized:
        notes.append(f"{retokenized} answers were counted by the tokenizer, not by the server's usage")
    cached = [record.cached_tokens for record in ok if record.cached_tokens is not None]
    if sum(cached):
        prompt = sum(record.prompt_tokens or 0 for record in ok if record.cached_tokens is not None)
        notes.append(f"{sum(cached)} of {prompt} prompt tokens came from the prefix cache")
    if server is None:
        notes.append("the server's metrics were not read, so nothing is known of restarts and queues")
    return notes
