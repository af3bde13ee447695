"""Indicators from vLLM's own metrics: what engines do, and what binds them.

Owns: their PromQL, units and words. Knows nothing about the gateway, or about clients that left: vLLM
records a request's times only if it finished.
"""

from __future__ import annotations

from collections.abc import Mapping

from dashboards.promql import Scope, increase, over_time, ratio, series, total, total_rate
from dashboards.sli import SUMMARIES, Ask, Better, Sli, Summary, share, vllm

FINISHED: Mapping[str, Better] = {
    "stop": "neither",
    "length": "neither",
    "abort": "lower",
    "error": "lower",
    "repetition": "lower",
}
"""vLLM's reasons to finish, and whether more of them is bad by itself."""


def _by(above: str, below: str) -> Ask:
    return lambda scope: ratio(total_rate(vllm(above), scope), total_rate(vllm(below), scope))


def _rate(metric: str) -> Ask:
    return lambda scope: total_rate(vllm(metric), scope)


def _summary(how: Summary, metric: str) -> Ask:
    return lambda scope: how(vllm(metric), scope)


def _mean(metric: str) -> Ask:
    return _summary(SUMMARIES["mean"], metric)


def _computed(scope: Scope) -> str:
    return total_rate(vllm("prompt_tokens_by_source"), scope, source="local_compute")


def _cached(scope: Scope) -> str:
    # To a decoding engine of a pair its partner's work is a cache hit, though nothing was saved.
    return total_rate(vllm("prompt_tokens_cached"), scope.only('role!="decode"'))


def _cached_ratio(scope: Scope) -> str:
    return ratio(_cached(scope), f"({_cached(scope)} + {_computed(scope)})")


def _wasted(scope: Scope) -> str:
    drafted = total_rate(vllm("spec_decode_draft_tokens"), scope)
    return f"{drafted} - {total_rate(vllm('spec_decode_accepted_tokens'), scope)}"


def _finished(reason: str) -> Ask:
    return lambda scope: share(vllm("requests_finished"), scope, {"finished_reason": reason}, {})


def _transfer_failures(scope: Scope) -> str:
    failed, expired = (increase(vllm(key), scope) for key in ("nixl_failed_transfers", "nixl_kv_expired"))
    return f"{total(failed, scope)} + {total(expired, scope)}"


ENGINE_SLIS: tuple[Sli, ...] = (
    Sli(
        key="kv_usage", title="KV cache in use", unit="ratio", better="lower",
        help="The fullest engine's share of KV blocks in use.",
        query=lambda scope: total(series(vllm("kv_cache_usage"), scope), scope, "max"),
    ),
    Sli(
        key="waiting", title="Waiting", unit="requests", better="lower",
        help="Requests that engines have not begun.",
        query=lambda scope: total(series(vllm("requests_waiting"), scope), scope),
    ),
    Sli(
        key="prefix_hits", title="Prefix cache hits", unit="ratio", better="higher",
        help="Prompt tokens found in the prefix cache, of those looked up.",
        query=_by("prefix_cache_hits", "prefix_cache_queries"),
    ),
    Sli(
        key="waiting_capacity", title="Waiting for capacity", unit="requests", better="lower",
        help="The fewest requests that waited for a batch slot or KV blocks at any moment of the window.",
        query=lambda scope: total(
            over_time("min", vllm("requests_waiting_by_reason"), scope, reason="capacity"), scope
        ),
    ),
    Sli(
        key="preemptions", title="Preemptions", unit="count", better="lower",
        help="Running requests that lost their KV blocks to others and are computed again.",
        query=lambda scope: total(increase(vllm("preemptions"), scope), scope),
    ),
    Sli(
        key="finished", title="Finished by engines", unit="count", better="neither",
        help="Requests that engines finished within the window, whoever sent them.",
        query=lambda scope: total(increase(vllm("requests_finished"), scope), scope),
    ),
    *(
        Sli(
            key=f"engine_{key}_{name}", title=f"{title} {name}", unit="seconds", better="lower",
            help=words, query=_summary(how, metric),
        )
        for key, metric, title, words in (
            ("ttft", "ttft", "TTFT", "From a request's arrival at the engine to its first token."),
            ("tpot", "tpot", "TPOT", "Time per output token after the first, of requests that finished."),
            ("itl", "itl", "ITL", "Between two outputs of a request; an output may hold several tokens."),
            ("e2e", "e2e", "E2E", "From arrival at the engine to the last token, of requests that finished."),
        )
        for name, how in SUMMARIES.items()
    ),
    Sli(
        key="queue_mean", title="Mean time waiting", unit="seconds", better="lower",
        help="Before the engine began with a request.", query=_mean("queue_time"),
    ),
    Sli(
        key="prefill_mean", title="Mean time in prefill", unit="seconds", better="lower",
        help="From the beginning of a request to its first token.", query=_mean("prefill_time"),
    ),
    Sli(
        key="decode_mean", title="Mean time in decode", unit="seconds", better="lower",
        help="From the first token of a request to its last.", query=_mean("decode_time"),
    ),
    Sli(
        key="running", title="Running", unit="requests", better="neither",
        help="Requests that engines work on.",
        query=lambda scope: total(series(vllm("requests_running"), scope), scope),
    ),
    Sli(
        key="step_tokens", title="Tokens a step", unit="tokens", better="neither",
        help="How many tokens an engine works on in one step, prefill and decode together.",
        query=_mean("iteration_tokens"),
    ),
    Sli(
        key="prompt_length", title="Prompt length", unit="tokens", better="neither",
        help="Mean prompt of requests that finished.", query=_mean("request_prompt_tokens"),
    ),
    Sli(
        key="output_length", title="Output length", unit="tokens", better="neither",
        help="Mean output of requests that finished.", query=_mean("request_generation_tokens"),
    ),
    Sli(
        key="asked_length", title="Length asked for", unit="tokens", better="neither",
        help="Mean max_tokens of requests that finished.", query=_mean("request_max_tokens"),
    ),
    Sli(
        key="engine_output_tokens", title="Output tokens of engines", unit="tokens/s", better="higher",
        help="Tokens that engines made, also for clients that left.", query=_rate("generation_tokens"),
    ),
    Sli(
        key="engine_prompt_tokens", title="Prompt tokens of engines", unit="tokens/s", better="neither",
        help="Prompt tokens that engines took in, cached ones included.", query=_rate("prompt_tokens"),
    ),
    Sli(
        key="cached_tokens", title="Cached prompt tokens", unit="tokens/s", better="higher",
        help="Prompt tokens that were not computed again.", query=_cached,
    ),
    Sli(
        key="computed_tokens", title="Computed prompt tokens", unit="tokens/s", better="neither",
        help="Prompt tokens that an engine computed itself.", query=_computed,
    ),
    Sli(
        key="cached_ratio", title="Cached share of prompts", unit="ratio", better="higher",
        help="Prompt tokens that were not computed again, of all.",
        query=_cached_ratio,
    ),
    Sli(
        key="acceptance", title="Acceptance rate", unit="ratio", better="higher",
        help="Drafted tokens that the model accepted.",
        query=_by("spec_decode_accepted_tokens", "spec_decode_draft_tokens"),
    ),
    Sli(
        key="acceptance_length", title="Acceptance length", unit="tokens", better="higher",
        help="Tokens a step of the model: one of its own and those it accepted.",
        query=lambda scope: f"1 + {_by('spec_decode_accepted_tokens', 'spec_decode_drafts')(scope)}",
    ),
    Sli(
        key="wasted_drafts", title="Wasted drafts", unit="tokens/s", better="lower",
        help="Drafted tokens that the model threw away.", query=_wasted,
    ),
    Sli(
        key="transfer_failures", title="Failed KV transfers", unit="count", better="lower",
        help="Transfers that failed, and requests whose KV blocks expired before they were fetched.",
        query=_transfer_failures,
    ),
    *(
        Sli(
            key=f"finished_{reason}", title=f"Finished by {reason}", unit="ratio", better=better,
            help=f"Requests whose reason to finish was '{reason}', of all that engines finished.",
            query=_finished(reason),
        )
        for reason, better in FINISHED.items()
    ),
)  # fmt: skip
