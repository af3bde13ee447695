"""The first board: are users fine, and if not, where to look next.

Owns: what it shows and in which order. Knows nothing about how it is drawn.
"""

from __future__ import annotations

from dashboards.boards.choices import ANSWERING, DEPLOYMENT, REVISION, SIDE, WHOLE
from dashboards.boards.looks import (
    BAD,
    CLIENT,
    ENGINE,
    GATEWAY,
    GOOD,
    OBJECTIVES,
    OUTCOMES,
    ask,
    latency,
    objective,
)
from dashboards.panels import Board, Column, Panel, Query, Row, Threshold
from dashboards.promql import RANGE, mean, series, total
from dashboards.rules import burn_name
from dashboards.slis import load, missed_ratio, own

_JUDGED = SIDE.split("slo").over(RANGE)
_MISSED = missed_ratio()(_JUDGED)
_ALLOWED = f"(1 - {total(series(own('slo_target'), WHOLE), WHOLE.split('slo'), 'max')})"
_RUNNING = "only while a load generator runs"

_FINE = Row(
    "Are users fine?",
    (
        Panel(
            key="met",
            title="Requests that met their objective, in the range chosen",
            kind="stat",
            unit="ratio",
            queries=(Query(expr=f"1 - {_MISSED}", legend="{{slo}}", instant=True),),
            help="Of clients' requests that an objective says something about, clients that gave up waiting "
            "included. Do: an objective below its target has spent its budget; see which latency grew below.",
            width=12,
            height=4,
            decimals=2,
            thresholds=(Threshold(None, "blue"),),
            optional="only with judged requests in the range",
        ),
        Panel(
            key="budget",
            title="Error budget left, in the range chosen",
            kind="stat",
            unit="ratio",
            queries=(
                Query(
                    expr=f"clamp_min(1 - {_MISSED} / on (slo) {_ALLOWED}, -1)", legend="{{slo}}", instant=True
                ),
            ),
            help="100 %: nothing missed; 0 %: as many as the target allows; negative: more. "
            "Do: below 25 % ship nothing risky, below 0 % take the last change back (Rollout).",
            width=12,
            height=4,
            decimals=0,
            lowest=-1,
            highest=1,
            thresholds=(Threshold(None, "red"), Threshold(0, "amber"), Threshold(0.25, "green")),
            optional="only with judged requests in the range",
        ),
        Panel(
            key="burn",
            title="Burn rate over 1 h",
            unit="factor",
            queries=(
                Query(expr=series(burn_name("1h"), WHOLE), legend="{{slo}}"),
                Query(expr="vector(6)", legend="warning, over 6 h", color="amber", style="limit"),
                Query(expr="vector(14.4)", legend="critical", color=BAD, style="limit"),
            ),
            colors=OBJECTIVES,
            help="How many times too fast the budget of a month is spent; 1 lasts exactly a month. "
            "Do: above 14.4 somebody is paged; read docs/alerts.md under the alert's name.",
            lowest=0,
        ),
        Panel(
            key="outcomes",
            title="Requests by outcome",
            unit="requests/s",
            queries=(ask("requests", SIDE.split("outcome"), "{{outcome}}"),),
            colors=OUTCOMES,
            stacked=True,
            help="How clients' requests ended. vLLM does not count clients that left (client_gone). "
            "Do: client_gone grows with TTFT; rejected: queue full, or wrong requests; upstream_error: "
            "see the engines' log.",
            lowest=0,
        ),
        Panel(
            key="alerts",
            title="Alerts that fire",
            kind="table",
            unit="text",
            queries=(Query(expr=series("ALERTS", WHOLE, alertstate="firing"), instant=True),),
            columns=(
                Column(label="alertname", title="Alert"),
                Column(label="severity", title="Severity"),
                Column(label="kind", title="Mode"),
                Column(label="revision", title="Revision"),
                Column(label="instance", title="Engine"),
                Column(label="backend", title="Engine, by the gateway"),
            ),
            help="What Prometheus holds to be wrong now. Do: read docs/alerts.md under the alert's name.",
            empty="No alert fires",
            optional="only while an alert fires",
        ),
    ),
)
_FAST = Row(
    "How fast?",
    tuple(
        Panel(
            key=key,
            title=title,
            unit="seconds",
            queries=(*latency(key, SIDE), objective(key, WHOLE)),
            help=words,
            lowest=0,
        )
        for key, title, words in (
            (
                "ttft", "TTFT",
                "From a stream's head to its first byte, as forwarded. Do: if it grows, see Engine: waiting "
                "means too few engines or slots, prefill means long or uncached prompts.",
            ),
            (
                "tpot", "TPOT",
                "Time per output token after the first, of streams that tell how many they had "
                "(include_usage). Do: if it grows with what runs at once, lower max_num_seqs, add engines, "
                "or see Levers: speculation and quantization.",
            ),
            (
                "e2e", "E2E",
                "From a request's head to the end of its whole answer. Do: if TTFT and TPOT are as ever, "
                "answers became longer; see their length on Engine.",
            ),
        )
    ),
)  # fmt: skip
_TRAFFIC = Row(
    "How much?",
    (
        Panel(
            key="goodput",
            title="Goodput by objective",
            unit="requests/s",
            queries=(
                ask("requests", SIDE, "all requests", color="grey", style="dashed"),
                ask("goodput", SIDE.split("slo"), "{{slo}}"),
            ),
            colors=OBJECTIVES,
            help="Requests a second that met each objective; a request without streaming has no TTFT. "
            "Do: where it stays flat while requests grow, the limit is reached: add engines or shed load.",
            lowest=0,
        ),
        Panel(
            key="in_flight",
            title="In flight",
            unit="requests",
            queries=(
                Query(
                    expr=total(series(own("gateway_in_flight"), WHOLE), WHOLE),
                    legend="in flight",
                    color=GATEWAY,
                ),
                Query(
                    expr=total(series(own("gateway_queued"), WHOLE), WHOLE), legend="queued", color="amber"
                ),
            ),
            help="Requests at the gateway, and those of them that wait for a place at an engine. "
            "Do: a queue that stays means more comes in than engines take; see Engine.",
            lowest=0,
            decimals=0,
        ),
        Panel(
            key="ready",
            title="Ready engines",
            unit="count",
            queries=(ask("ready", SIDE.split("revision", "role"), "{{revision}} {{role}}"),),
            help="Engines that may be given requests. Do: if one is missing, `teapot status` says why.",
            lowest=0,
            decimals=0,
        ),
    ),
)
_SIDES = Row(
    "Where is it lost? The same seen by engine, gateway and client",
    (
        *(
            Panel(
                key=f"{key}_sides",
                title=f"{key.upper()}, mean",
                unit="seconds",
                queries=(
                    ask(f"engine_{key}_mean", SIDE.only(ANSWERING), "engine", color=ENGINE),
                    ask(f"{key}_mean", SIDE, "gateway", color=GATEWAY),
                    Query(
                        expr=mean(load(key), WHOLE), legend="client (load generator)", color=CLIENT,
                        optional=_RUNNING,
                    ),
                ),
                help=words,
                lowest=0,
            )
            for key, words in (
                (
                    "ttft",
                    "Exact means. Do: a gap between engine and gateway is the gateway's queue or its way to "
                    "the engine; between gateway and client, the client or the network.",
                ),
                (
                    "tpot",
                    "Exact means; the engine's is only of requests that finished, so clients that left are "
                    "missing there. Do: a gap is a gateway or a client too busy to read.",
                ),
            )
        ),
        Panel(
            key="token_sides",
            title="Output tokens",
            unit="tokens/s",
            queries=(
                ask("engine_output_tokens", SIDE.only(ANSWERING), "engine made", color=ENGINE),
                ask("output_tokens", SIDE, "clients got", color=GATEWAY),
            ),
            help="Tokens made against tokens of answers that ended. Do: a gap that stays is work for clients "
            "that left: see client_gone, and their time-outs against TTFT.",
            lowest=0,
        ),
    ),
)  # fmt: skip
_BINDS = Row(
    "What binds?",
    (
        Panel(
            key="batch",
            title="Running and waiting at engines",
            unit="requests",
            queries=(
                ask("running", SIDE, "running", color=GOOD),
                ask("waiting", SIDE, "waiting", color="amber"),
            ),
            stacked=True,
            help="Do: waiting while running stays flat: slots (max_num_seqs) or KV blocks bind; see Engine.",
            lowest=0,
            decimals=0,
        ),
        Panel(
            key="kv_usage",
            title="KV cache in use",
            unit="ratio",
            queries=(ask("kv_usage", SIDE.split("revision"), "{{revision}}"),),
            help="The fullest engine's. Do: near 100 % with preemptions (Engine), run fewer at once, give "
            "the cache more memory, or quantize it.",
            lowest=0,
            highest=1,
        ),
        Panel(
            key="cached",
            title="Prompt tokens not computed again",
            unit="ratio",
            queries=(ask("cached_ratio", SIDE.split("revision"), "{{revision}}"),),
            help="The share of prompts that caches saved. Do: if it falls, prompts changed their beginning, "
            "or the cache is too small; see Levers.",
            lowest=0,
            highest=1,
        ),
    ),
)

OVERVIEW = Board(
    uid="teapot-overview",
    title="Overview",
    help="Are users fine? If not: what binds (Engine), which revision (Rollout).",
    variables=(DEPLOYMENT, REVISION),
    rows=(_FINE, _FAST, _TRAFFIC, _SIDES, _BINDS),
)
