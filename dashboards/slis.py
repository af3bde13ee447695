"""The service level indicators, each once: panels, recording rules, alerts and rollout gates all take them here.

Owns: what is asked of Prometheus for each, its unit, and which direction is good. Knows nothing about how it is
drawn, how often it is asked, or what is done about it.

Metric names come from the facts (`serving/facts/metrics.toml`), so a metric that is renamed is renamed here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from dashboards.promql import Scope, increase, mean, or_zero, over_time, quantile, rate, ratio, series, total
from serving.facts.load import engine_metrics, own_metrics

Unit = Literal["seconds", "ratio", "tokens/s", "requests/s", "requests", "tokens", "count"]
Better = Literal["lower", "higher", "neither"]
SLOS = ("availability", "ttft", "tpot", "e2e")
"""As `teapot_slo_requests_total` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sli:
    """One indicator. `query` gives PromQL for a scope; it has no sample where there is nothing to tell."""

    key: str
    title: str
    unit: Unit
    better: Better
    help: str
    query: Callable[[Scope], str]


def own(key: str) -> str:
    """The name of a metric of teapot's, by its key in the facts."""
    return own_metrics()[key].name


def vllm(key: str) -> str:
    """The name of a metric of vLLM's, by its key in the facts."""
    return engine_metrics()[key].name


def missed_ratio(slo: str | None = None) -> Callable[[Scope], str]:
    """The share of judged requests that missed an objective; 0 where all met it, nothing where none was judged.

    None: every objective by itself, of a scope that keeps `slo` apart.
    """
    labels = {} if slo is None else {"slo": slo}

    def query(scope: Scope) -> str:
        judged = total(rate(own("slo_requests"), scope, **labels), scope)
        missed = total(rate(own("slo_requests"), scope, met="false", **labels), scope)
        return ratio(or_zero(missed, judged), judged)

    return query


def _met_ratio(slo: str) -> Callable[[Scope], str]:
    return lambda scope: f"1 - {missed_ratio(slo)(scope)}"


def _clients(query: Callable[..., str], metric: str, **labels: str) -> Callable[[Scope], str]:
    """Of answers that clients got: not of those that were thrown away (shadow traffic)."""
    return lambda scope: query(own(metric), scope, traffic="client", **labels)


def _quantile(q: float) -> Callable[..., str]:
    return lambda name, scope, **labels: quantile(q, name, scope, **labels)


def _rate(name: str, scope: Scope, **labels: str) -> str:
    return total(rate(name, scope, **labels), scope)


def _outcome_ratio(outcome: str) -> Callable[[Scope], str]:
    def query(scope: Scope) -> str:
        everything = _rate(own("gateway_requests"), scope, traffic="client")
        those = _rate(own("gateway_requests"), scope, traffic="client", outcome=outcome)
        return ratio(or_zero(those, everything), everything)

    return query


def _fallback_ratio(scope: Scope) -> str:
    divided = _rate(f"{own('gateway_prefill_leg')}_count", scope)
    return ratio(or_zero(_rate(own("gateway_fallbacks"), scope), divided), divided)


def _refused_ratio(scope: Scope) -> str:
    everything = _rate(own("gateway_requests"), scope, traffic="client")
    refused = _rate(own("gateway_requests"), scope, **_REFUSED)
    return ratio(or_zero(refused, everything), everything)


def _by(above: str, below: str) -> Callable[[Scope], str]:
    return lambda scope: ratio(_rate(vllm(above), scope), _rate(vllm(below), scope))


_REFUSED = {"traffic": "client", "outcome": "rejected", "code": "503"}
_SUMMARIES = (("p50", _quantile(0.5)), ("p95", _quantile(0.95)), ("p99", _quantile(0.99)), ("mean", mean))

SLIS: Mapping[str, Sli] = {
    sli.key: sli
    for sli in (
        Sli(
            key="availability", title="Availability", unit="ratio", better="higher",
            help="Requests that got a whole answer, of those that could have.",
            query=_met_ratio("availability"),
        ),
        Sli(
            key="ttft_met", title="TTFT within objective", unit="ratio", better="higher",
            help="Streams whose first byte came within the deployment's objective, clients that gave up included.",
            query=_met_ratio("ttft"),
        ),
        Sli(
            key="tpot_met", title="TPOT within objective", unit="ratio", better="higher",
            help="Streams whose time per output token was within the deployment's objective.",
            query=_met_ratio("tpot"),
        ),
        Sli(
            key="e2e_met", title="E2E within objective", unit="ratio", better="higher",
            help="Answers that were whole within the deployment's objective.",
            query=_met_ratio("e2e"),
        ),
        Sli(
            key="requests", title="Requests", unit="requests/s", better="neither",
            help="Clients' requests that ended, however.",
            query=_clients(_rate, "gateway_requests"),
        ),
        Sli(
            key="client_gone", title="Clients that left", unit="ratio", better="lower",
            help="Requests whose client left first. vLLM counts these nowhere.",
            query=_outcome_ratio("client_gone"),
        ),
        Sli(
            key="errors", title="Errors", unit="ratio", better="lower",
            help="Requests that the engine failed or that took too long.",
            query=lambda scope: _outcome_ratio_of("upstream_error|timeout|error", scope),
        ),
        Sli(
            key="output_tokens", title="Output tokens", unit="tokens/s", better="higher",
            help="Output tokens that clients got, of answers whose engine said how many.",
            query=_clients(_rate, "gateway_output_tokens"),
        ),
        *(
            Sli(
                key=f"ttft_{name}", title=f"TTFT {name}", unit="seconds", better="lower",
                help="From a stream's head to its first byte, as the gateway forwarded it.",
                query=_clients(how, "gateway_first_byte", streamed="true"),
            )
            for name, how in _SUMMARIES
        ),
        *(
            Sli(
                key=f"tpot_{name}", title=f"TPOT {name}", unit="seconds", better="lower",
                help="Time per output token after the first, a request, as the gateway forwarded it.",
                query=_clients(how, "gateway_tpot"),
            )
            for name, how in _SUMMARIES
        ),
        *(
            Sli(
                key=f"e2e_{name}", title=f"E2E {name}", unit="seconds", better="lower",
                help="From a request's head to the end of its whole answer.",
                query=_clients(how, "gateway_duration", outcome="ok"),
            )
            for name, how in _SUMMARIES
        ),
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
            key="prefill_fallbacks", title="Prefill fallbacks", unit="ratio", better="lower",
            help="Divided requests that one engine had to answer alone, of all that were divided.",
            query=_fallback_ratio,
        ),
        Sli(
            key="refused", title="Refused by the gateway", unit="ratio", better="lower",
            help="Requests that got a 503 of the gateway's own: its queue was full, or no engine was ready.",
            query=_refused_ratio,
        ),
        Sli(
            key="refusals", title="Refusals", unit="count", better="lower",
            help="How many requests got a 503 of the gateway's own within the window.",
            query=lambda scope: total(increase(own("gateway_requests"), scope, **_REFUSED), scope),
        ),
        Sli(
            key="finished", title="Finished by engines", unit="count", better="neither",
            help="Requests that engines finished within the window, whoever sent them.",
            query=lambda scope: total(increase(vllm("requests_finished"), scope), scope),
        ),
        Sli(
            key="mode_in_effect", title="Modes in effect", unit="count", better="higher",
            help="1 if a mode was proven in effect wherever it was asked for, 0 if not; keep `kind` apart.",
            query=lambda scope: total(series(own("mode_in_effect"), scope), scope, "min"),
        ),
        Sli(
            key="engine_failures", title="Engine failures", unit="count", better="lower",
            help="How often engines crashed, hung or could not be proven within the window.",
            query=lambda scope: total(increase(own("engine_failures"), scope), scope),
        ),
    )
}  # fmt: skip


def _outcome_ratio_of(pattern: str, scope: Scope) -> str:
    everything = _rate(own("gateway_requests"), scope, traffic="client")
    those = _rate(own("gateway_requests"), scope.only(f'outcome=~"{pattern}"'), traffic="client")
    return ratio(or_zero(those, everything), everything)
