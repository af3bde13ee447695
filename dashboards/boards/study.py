"""The board of a study: its cells as clients saw them, and what engines of each arm say of the levers.

Owns: what it shows and in which order. Knows nothing about how it is drawn, or how a study is run.

A study's numbers are those of its own page, with intervals over repeats. This shows the same while they are
made, as far as a Prometheus has them: a cell is a run of the load generator, an arm a deployment.
"""

from __future__ import annotations

from dashboards.boards.choices import LOAD
from dashboards.boards.looks import ask
from dashboards.panels import Board, Color, Panel, Query, Row, Variable
from dashboards.promql import RANGE, Scope, mean, quantile, series, total, total_rate
from dashboards.slis import load, vllm

CELL = Variable(name="run", title="Cell", many=True, query=f"label_values({load('sent')}, run)")
ARM = Variable(
    name="arm", title="Arm", many=True,
    query=f"label_values({series(vllm('requests_running'))}, deployment)",
)  # fmt: skip
ARMS = Scope(('deployment=~"$arm"',)).split("deployment")
_CELLS = LOAD.split("run")
_WHOLE = _CELLS.over(RANGE)
_QUANTILES: tuple[tuple[float, Color], ...] = ((0.5, "light_blue"), (0.95, "blue"), (0.99, "dark_blue"))
_SPECULATION = "only with speculation"
_ENGINES = "only where a Prometheus scrapes the arms' engines (docs/study.md)"

_CLIENTS = Row(
    "What did each cell give?",
    (
        Panel(
            key="output",
            title="Output",
            unit="tokens/s",
            queries=(Query(expr=total_rate(load("output_tokens"), _CELLS), legend="{{run}}"),),
            help="Tokens of complete answers. Do: compare cells of one workload only; the page has their "
            "means over repeats, with intervals.",
            lowest=0,
        ),
        Panel(
            key="ttft",
            title="TTFT of the cells chosen",
            unit="seconds",
            queries=(
                *(
                    Query(
                        expr=quantile(q, load("ttft"), LOAD),
                        legend=f"p{q * 100:.0f}",
                        color=color,
                    )
                    for q, color in _QUANTILES
                ),
                Query(expr=mean(load("ttft"), LOAD), legend="mean", color="grey", style="dashed"),
            ),
            help="From sending to the first token. Do: if an arm's is higher with equal prompts, see whether "
            "its engine waits or computes (Engine).",
            lowest=0,
        ),
        Panel(
            key="tpot",
            title="TPOT, mean",
            unit="seconds",
            queries=(Query(expr=mean(load("tpot"), _CELLS), legend="{{run}}"),),
            help="Time per output token after the first. Do: what a lever of decoding gains shows here, and "
            "at many users in the output.",
            lowest=0,
        ),
        Panel(
            key="cells",
            title="Each cell, over the range",
            kind="bargauge",
            unit="seconds",
            queries=(Query(expr=mean(load("tpot"), _WHOLE), legend="{{run}}", instant=True),),
            help="Mean TPOT of all that the range holds of a cell. Do: choose a range that holds the whole "
            "study.",
            width=24,
            height=8,
            lowest=0,
        ),
    ),
)
_SPECULATIVE = Row(
    "Speculation, arm by arm",
    (
        Panel(
            key="acceptance",
            title="Acceptance rate",
            unit="ratio",
            queries=(ask("acceptance", ARMS, "{{deployment}}"),),
            help="Accepted of drafted tokens; (E - 1) / k and not alpha. Do: with more tokens a step it "
            "falls; see the page for tokens a pass.",
            lowest=0,
            highest=1,
            optional=_SPECULATION,
        ),
        Panel(
            key="length",
            title="Acceptance length",
            unit="tokens",
            queries=(ask("acceptance_length", ARMS, "{{deployment}}"),),
            help="Tokens that a step with drafts gives. Do: where TPOT fell by less, drafting and checking "
            "cost the rest.",
            lowest=0,
            optional=_SPECULATION,
        ),
        Panel(
            key="drafted",
            title="Drafted tokens",
            unit="tokens/s",
            queries=(
                Query(expr=total_rate(vllm("spec_decode_draft_tokens"), ARMS), legend="{{deployment}}"),
            ),
            help="Do: none at all while answers come means that nothing was found to look up.",
            lowest=0,
            optional=_SPECULATION,
        ),
    ),
)
_CACHE = Row(
    "KV cache and batch, arm by arm",
    (
        Panel(
            key="kv_usage",
            title="KV cache in use",
            unit="ratio",
            queries=(ask("kv_usage", ARMS, "{{deployment}}"),),
            help="The fullest engine's share of blocks. Do: at equal contexts an arm of half the bytes uses "
            "half of it.",
            lowest=0,
            highest=1,
            optional=_ENGINES,
        ),
        Panel(
            key="hits",
            title="Prefix cache hits",
            unit="ratio",
            queries=(ask("prefix_hits", ARMS, "{{deployment}}"),),
            help="Prompt tokens found, of those looked up. Do: hold it against TTFT of the same arm.",
            lowest=0,
            highest=1,
            optional=_ENGINES,
        ),
        Panel(
            key="running",
            title="Running at once",
            unit="requests",
            queries=(
                Query(
                    expr=total(series(vllm("requests_running"), ARMS), ARMS), legend="{{deployment}}",
                ),
            ),
            help="The batch. Do: below the workload's number of users, requests wait or the load is not "
            "closed.",
            lowest=0,
            optional=_ENGINES,
        ),
    ),
)  # fmt: skip

STUDY = Board(
    uid="teapot-study",
    title="Study",
    help="The cells and arms of a study while it runs; its page has the numbers with their intervals.",
    variables=(CELL, ARM),
    rows=(_CLIENTS, _SPECULATIVE, _CACHE),
    # Starts and cells are marked without a deployment: an arm has several lives.
    marks=(),
    span="30m",
)
