"""The board of a load test: what the client saw, over what the server says of itself.

Owns: what it shows and in which order. Knows nothing about how it is drawn, or how load is made.
"""

from __future__ import annotations

from dashboards.boards.choices import ANSWERING, DEPLOYMENT, LOAD, RUN, WHOLE
from dashboards.boards.looks import BAD, CLIENT, ENGINE, GATEWAY, ask, objective
from dashboards.panels import Board, Panel, Query, Row, Threshold
from dashboards.promql import RANGE, increase, mean, or_zero, quantile, ratio, series, total, total_rate
from dashboards.slis import load

_OBJECTIVES = "only with objectives in the workload"
_IN_RANGE = LOAD.over(RANGE)
_ENDED = total(increase(load("requests"), _IN_RANGE), _IN_RANGE)
_OK = total(increase(load("requests"), _IN_RANGE, outcome="ok"), _IN_RANGE)

_TILES = Row(
    "What did the client get, in the range chosen?",
    (
        Panel(
            key="ended",
            title="Requests measured",
            kind="stat",
            unit="requests",
            queries=(Query(expr=_ENDED, instant=True),),
            help="Requests that ended, without warm-up. Do: percentiles need enough of them: 93 for p95, 473 "
            "for p99.",
            width=6,
            height=4,
            decimals=0,
            thresholds=(Threshold(None, "blue"),),
        ),
        Panel(
            key="not_ok",
            title="Failed or cut",
            kind="stat",
            unit="ratio",
            queries=(Query(expr=f"1 - {ratio(or_zero(_OK, _ENDED), _ENDED)}", instant=True),),
            help="Of those measured. Do: latencies are only of whole answers; with more than a few percent "
            "missing they look better than they are.",
            width=6,
            height=4,
            decimals=2,
            lowest=0,
            highest=1,
            thresholds=(Threshold(None, "green"), Threshold(0.001, "amber"), Threshold(0.01, "red")),
        ),
        Panel(
            key="goodput_ratio",
            title="Met every objective, so far",
            kind="stat",
            unit="ratio",
            queries=(Query(expr=total(series(load("goodput")), LOAD, "avg"), instant=False),),
            help="Of requests that ended, by the workload's own objectives. Do: compare with the gateway's "
            "(Overview): theirs are the deployment's.",
            width=6,
            height=4,
            decimals=1,
            lowest=0,
            highest=1,
            thresholds=(Threshold(None, "red"), Threshold(0.95, "amber"), Threshold(0.99, "green")),
            optional=_OBJECTIVES,
        ),
        Panel(
            key="late",
            title="Sent late by more than, p99",
            kind="stat",
            unit="seconds",
            queries=(Query(expr=quantile(0.99, load("lag"), _IN_RANGE), instant=True),),
            help="Against the timetable. Do: above 10 ms the generator itself was too busy: use more "
            "--processes, or another machine; the run does not measure the server.",
            width=6,
            height=4,
            lowest=0,
            thresholds=(Threshold(None, "green"), Threshold(0.01, "amber"), Threshold(0.1, "red")),
        ),
    ),
)
_LATENCY = Row(
    "How fast, seen by client, gateway and engine?",
    tuple(
        Panel(
            key=f"{key}_{how}",
            title=f"{key.upper()}, {how}",
            unit="seconds",
            queries=(
                Query(
                    expr=(mean if how == "mean" else lambda name, scope: quantile(0.95, name, scope))(
                        load(key), LOAD
                    ),
                    legend="client", color=CLIENT,
                ),
                ask(f"{key}_{how}", WHOLE, "gateway", color=GATEWAY),
                ask(f"engine_{key}_{how}", WHOLE.only(ANSWERING), "engine", color=ENGINE),
                *((objective(key, WHOLE),) if how == "p95" else ()),
            ),
            help=words,
            lowest=0,
        )
        for how, words in (
            (
                "p95",
                "Each as fine as its buckets; the client's are within 1 %. Do: client above gateway: the "
                "client or the network; gateway above engine: the gateway's queue.",
            ),
            (
                "mean",
                "Exact, so here the three can be held against each other. Do: a gap of more than a few "
                "milliseconds wants an explanation before the run is believed.",
            ),
        )
        for key in ("ttft", "tpot", "e2e")
    ),
)  # fmt: skip
_STAGES = LOAD.split("stage")
_FLOW = Row(
    "How much?",
    (
        Panel(
            key="requests",
            title="Requests by outcome",
            unit="requests/s",
            queries=(
                Query(expr=total_rate(load("requests"), LOAD.split("outcome")), legend="{{outcome}}"),
                Query(
                    expr=total_rate(load("sent"), LOAD), legend="sent", color="grey", style="dashed",
                ),
            ),
            colors=(("ok", "green"), ("failed", "red"), ("cut", "amber")),
            help="cut: the run ended first. Do: sent above ok for long means a queue grows: this load is "
            "more than the server takes.",
            lowest=0,
        ),
        Panel(
            key="in_flight",
            title="In flight",
            unit="requests",
            queries=(
                Query(expr=total(series(load("in_flight"), LOAD), LOAD), legend="client", color=CLIENT),
                ask("in_flight", WHOLE, "at engines", color=GATEWAY),
                ask("running", WHOLE, "running", color=ENGINE),
                ask("waiting", WHOLE, "waiting", color="amber"),
            ),
            help="Sent and not answered; of these at engines, running and waiting there. Do: running that "
            "stays flat while the client's grows is the limit of slots or KV blocks (Engine).",
            lowest=0,
            decimals=0,
        ),
        Panel(
            key="tokens",
            title="Output tokens",
            unit="tokens/s",
            queries=(
                Query(expr=total_rate(load("output_tokens"), LOAD), legend="client", color=CLIENT),
                ask("engine_output_tokens", WHOLE.only(ANSWERING), "engine", color=ENGINE),
            ),
            help="The client counts an answer's tokens when it ends, so it lags. Do: where the engine's no "
            "longer grows with load, it is saturated.",
            lowest=0,
        ),
        Panel(
            key="stages",
            title="Requests by stage",
            unit="requests/s",
            queries=(
                Query(expr=total_rate(load("requests"), _STAGES, outcome="ok"), legend="stage {{stage}}"),
            ),
            help="Answered in whole; a run without stages has one, `all`. Do: read latencies stage by stage; "
            "a mean over stages says nothing.",
            lowest=0,
        ),
        Panel(
            key="ttft_by_stage",
            title="TTFT by stage, p95",
            unit="seconds",
            queries=(
                Query(expr=quantile(0.95, load("ttft"), _STAGES), legend="stage {{stage}}"),
                objective("ttft", WHOLE),
            ),
            help="Requests are counted in the stage they were sent in. Do: the first stage above the "
            "objective is where the limit lies; `teapot load search` finds it.",
            lowest=0,
        ),
        Panel(
            key="kv_usage",
            title="KV cache in use",
            unit="ratio",
            queries=(ask("kv_usage", WHOLE.split("revision"), "{{revision}}"),),
            help="The fullest engine's. Do: at 100 % with waiting requests KV blocks bind: quantize the "
            "cache, or give it more memory.",
            lowest=0,
            highest=1,
        ),
    ),
)  # fmt: skip
_FIT = Row(
    "Can the client be believed?",
    (
        Panel(
            key="lag",
            title="How late requests are sent",
            unit="seconds",
            queries=(
                Query(expr=quantile(0.5, load("lag"), LOAD), legend="p50", color="light_blue"),
                Query(expr=quantile(0.99, load("lag"), LOAD), legend="p99", color="dark_blue"),
                Query(expr=mean(load("lag"), LOAD), legend="mean", color="grey", style="dashed"),
            ),
            help="Against the timetable. Do: if it grows with load, the generator is the bottleneck; nothing "
            "on this board then tells of the server.",
            lowest=0,
            width=12,
        ),
        Panel(
            key="unread",
            title="Answers that wait to be read",
            unit="requests",
            queries=(Query(expr=total(series(load("unread"), LOAD), LOAD), color=BAD),),
            help="Answers that ended and whose stamps are not worked out yet. Do: a line that only grows: "
            "too little processor time for the generator; use more --processes.",
            lowest=0,
            decimals=0,
            width=12,
        ),
    ),
)

LOAD_TEST = Board(
    uid="teapot-load-test",
    title="Load test",
    help="What the client saw, over what gateway and engines say of the same requests.",
    variables=(DEPLOYMENT, RUN),
    rows=(_TILES, _LATENCY, _FLOW, _FIT),
    # Whom a run loads is not always known, so its stages are marked without a deployment.
    marks=(),
    span="15m",
)
