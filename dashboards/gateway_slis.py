"""Indicators from the gateway's metrics: what clients got.

Owns: their PromQL, units and words. Knows nothing about engines' own metrics.
"""

from __future__ import annotations

from dashboards.promql import Scope, increase, or_zero, rate, ratio, series, total, total_rate
from dashboards.sli import SUMMARIES, Ask, Sli, Summary, own, share
from serving.facts.paths import WORKING

SLOS = ("availability", "ttft", "tpot", "e2e")
"""As `teapot_slo_requests_total` names them."""


def missed_ratio(slo: str | None = None) -> Ask:
    """The share of judged requests that missed an objective; no sample where none was judged.

    None: every objective by itself, of a scope that keeps `slo` apart.
    """
    labels = {} if slo is None else {"slo": slo}
    return lambda scope: share(own("slo_requests"), scope, {"met": "false"}, labels)


def _met_ratio(slo: str) -> Ask:
    return lambda scope: f"1 - {missed_ratio(slo)(scope)}"


_CLIENT = {"traffic": "client"}
"""Answers that clients got: not those that were thrown away (shadow traffic)."""
_REFUSED = {"outcome": "rejected", "code": "503"}
WORK = 'path=~"' + "|".join(WORKING) + '"'
"""Requests that make an engine work, of metrics that tell the path."""


def _clients(metric: str) -> Ask:
    return lambda scope: total_rate(own(metric), scope, **_CLIENT)


def _summary(how: Summary, metric: str, **labels: str) -> Ask:
    return lambda scope: how(own(metric), scope, **_CLIENT, **labels)


def _whole(how: Summary) -> Ask:
    return lambda scope: how(own("gateway_duration"), scope.only(WORK), **_CLIENT, outcome="ok")


def _outcome_ratio(**those: str) -> Ask:
    return lambda scope: share(own("gateway_requests"), scope.only(WORK), those, _CLIENT)


def _errors(scope: Scope) -> str:
    everything = total_rate(own("gateway_requests"), scope.only(WORK), **_CLIENT)
    failed = scope.only(WORK, 'outcome=~"upstream_error|timeout|error"')
    return ratio(
        or_zero(total(rate(own("gateway_requests"), failed, **_CLIENT), scope), everything), everything
    )


def _fallback_ratio(scope: Scope) -> str:
    divided = total_rate(f"{own('gateway_prefill_leg')}_count", scope)
    return ratio(or_zero(total_rate(own("gateway_fallbacks"), scope), divided), divided)


GATEWAY_SLIS: tuple[Sli, ...] = (
    Sli(
        key="availability", title="Availability", unit="ratio", better="higher",
        help="Requests that got a whole answer, of those that could have.",
        query=_met_ratio("availability"),
    ),
    Sli(
        key="ttft_met", title="TTFT within objective", unit="ratio", better="higher",
        help="Streams whose first byte came within the objective, clients that gave up included.",
        query=_met_ratio("ttft"),
    ),
    Sli(
        key="tpot_met", title="TPOT within objective", unit="ratio", better="higher",
        help="Streams whose time per output token was within the deployment's objective; "
        "only those that tell how many tokens they had (include_usage) are judged.",
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
        query=_clients("gateway_requests"),
    ),
    Sli(
        key="client_gone", title="Clients that left", unit="ratio", better="lower",
        help="Requests whose client left first. vLLM counts these nowhere.",
        query=_outcome_ratio(outcome="client_gone"),
    ),
    Sli(
        key="errors", title="Errors", unit="ratio", better="lower",
        help="Requests that the engine failed or that took too long.",
        query=_errors,
    ),
    Sli(
        key="output_tokens", title="Output tokens", unit="tokens/s", better="higher",
        help="Output tokens that clients got, of answers whose engine said how many.",
        query=_clients("gateway_output_tokens"),
    ),
    *(
        Sli(
            key=f"ttft_{name}", title=f"TTFT {name}", unit="seconds", better="lower",
            help="From a stream's head to its first byte, as the gateway forwarded it.",
            query=_summary(how, "gateway_first_byte", streamed="true"),
        )
        for name, how in SUMMARIES.items()
    ),
    *(
        Sli(
            key=f"tpot_{name}", title=f"TPOT {name}", unit="seconds", better="lower",
            help="Time per output token after the first, a request, as the gateway forwarded it.",
            query=_summary(how, "gateway_tpot"),
        )
        for name, how in SUMMARIES.items()
    ),
    *(
        Sli(
            key=f"e2e_{name}", title=f"E2E {name}", unit="seconds", better="lower",
            help="From the head of a request that makes an engine work to the end of its whole answer.",
            query=_whole(how),
        )
        for name, how in SUMMARIES.items()
    ),
    Sli(
        key="prefill_fallbacks", title="Prefill fallbacks", unit="ratio", better="lower",
        help="Divided requests that one engine had to answer alone, of all that were divided.",
        query=_fallback_ratio,
    ),
    Sli(
        key="refused", title="Refused by the gateway", unit="ratio", better="lower",
        help="Requests that got a 503 of the gateway's own: its queue was full, or no engine was ready.",
        query=_outcome_ratio(**_REFUSED),
    ),
    Sli(
        key="refusals", title="Refusals", unit="count", better="lower",
        help="How many requests got a 503 of the gateway's own within the window.",
        query=lambda scope: total(increase(own("gateway_requests"), scope, **_CLIENT, **_REFUSED), scope),
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
    Sli(
        key="goodput", title="Goodput", unit="requests/s", better="higher",
        help="Requests that met an objective; keep `slo` apart.",
        query=lambda scope: total_rate(own("slo_requests"), scope, met="true"),
    ),
    Sli(
        key="ended", title="Requests that ended", unit="count", better="neither",
        help="How many of clients' requests ended within the window, however.",
        query=lambda scope: total(increase(own("gateway_requests"), scope, **_CLIENT), scope),
    ),
    Sli(
        key="in_flight", title="In flight", unit="requests", better="neither",
        help="Requests that the gateway has sent to an engine and that have not ended.",
        query=lambda scope: total(series(own("gateway_backend_in_flight"), scope), scope),
    ),
    Sli(
        key="ready", title="Ready engines", unit="count", better="higher",
        help="Engines that may be given requests.",
        query=lambda scope: total(series(own("gateway_backend_ready"), scope), scope),
    ),
)  # fmt: skip
