"""The board of a rollout: is the new revision as good as the one it replaces.

Owns: what it shows and in which order. Knows nothing about how it is drawn, or who decides.
"""

from __future__ import annotations

from dashboards.boards.choices import ANSWERING, BASELINE, CANARY, DEPLOYMENT, ENOUGH, WHOLE
from dashboards.boards.levers import CONFIG_COLUMNS, config_query
from dashboards.boards.looks import ask, by_revision
from dashboards.boards.rollout_gate import GATE
from dashboards.boards.sides import COMPARED, compared
from dashboards.panels import Board, Column, Panel, Query, Row
from dashboards.promql import series, total, total_rate
from dashboards.slis import missed_ratio, own, vllm

_EACH = WHOLE.split("revision")
_ANSWERED = WHOLE.only(ANSWERING)

_WHO = Row(
    "Who gets what?",
    (
        Panel(
            key="weights",
            title="Share of requests",
            unit="ratio",
            queries=(
                Query(
                    expr=total(series(own("gateway_revision_weight"), WHOLE), _EACH, "max"),
                    legend="{{revision}}",
                ),
            ),
            stacked=True,
            help="As the gateway was told; shares add up to 1. Do: if requests beside do not follow, the "
            "revision has no ready engine.",
            lowest=0,
            highest=1,
        ),
        by_revision(
            "requests", "Requests", "requests/s",
            "That ended, however. Do: wait until each revision has enough of them before you judge.", WHOLE,
        ),
        Panel(
            key="ready",
            title="Ready engines",
            unit="count",
            queries=(ask("ready", _EACH, "{{revision}}"),),
            help="Engines that may be given requests. Do: a revision without any gets none, whatever its "
            "weight: see `teapot status`.",
            lowest=0,
            decimals=0,
        ),
    ),
)  # fmt: skip
_TABLE = Row(
    "Canary against baseline, in the range chosen",
    (
        Panel(
            key="compared",
            title="Canary against baseline",
            kind="table",
            unit="count",
            queries=compared(),
            columns=(
                Column(label="what", title="What"),
                Column(label="Value #A", title="Baseline"),
                Column(label="Value #B", title="Canary"),
                Column(label="Value #C", title="Canary / baseline", unit="factor"),
                Column(label="Value #D", title="n baseline", decimals=0),
                Column(label="Value #E", title="n canary", decimals=0),
                Column(
                    label="Value #F", title="Enough?",
                    words=((1, "enough", "green"), (0, "too few", "amber")),
                ),
            ),
            help="At the same time under the same load. Latencies in seconds, the rest as shares. Do: begin "
            "the range after the canary's warm-up; believe only rows with enough; a ratio above 1.1 in a "
            "latency or any growth of errors: take it back.",
            width=24,
            height=len(COMPARED) + 2,
            decimals=3,
            optional="only with requests to both",
        ),
    ),
)  # fmt: skip
_SIDES = Row(
    "Side by side",
    (
        *(
            Panel(
                key=f"{slo}_missed_by_revision",
                title=title,
                unit="ratio",
                queries=(Query(expr=missed_ratio(slo)(_EACH), legend="{{revision}}"),),
                help=words,
                lowest=0,
            )
            for slo, title, words in (
                (
                    "availability", "No whole answer",
                    "Of requests that could have had one. Do: a canary above baseline is taken back.",
                ),
                (
                    "ttft", "TTFT missed its objective",
                    "Of streams, clients that gave up included. Do: compare at equal prompts (length below).",
                ),
                (
                    "tpot", "TPOT missed its objective",
                    "Of streams. Do: if it grows with the canary's share, its engines are too few for it.",
                ),
            )
        ),
        by_revision(
            "ttft_p95", "TTFT p95", "seconds",
            "As the gateway forwarded it. Do: a cold prefix cache is slow at first; wait, then judge.", WHOLE,
        ),
        by_revision(
            "tpot_p95", "TPOT p95", "seconds",
            "As the gateway forwarded it. Do: see whether the canary runs more at once (KV cache).", WHOLE,
        ),
        by_revision(
            "e2e_p95", "E2E p95", "seconds",
            "Whole answers. Do: longer only because answers are longer? See output length.", WHOLE,
        ),
        by_revision(
            "errors", "Errors", "ratio",
            "Failed or timed out. Do: any that baseline does not have: take it back, read the log.", WHOLE,
        ),
        by_revision(
            "client_gone", "Clients that left", "ratio",
            "vLLM counts these nowhere. Do: more than baseline means users do not wait: see TTFT.", WHOLE,
        ),
        Panel(
            key="finished_by_revision",
            title="Reasons to finish, share",
            unit="ratio",
            queries=(
                ask("finished_length", _ANSWERED.split("revision"), "{{revision}}: length"),
                ask("finished_repetition", _ANSWERED.split("revision"), "{{revision}}: repetition"),
                ask("finished_error", _ANSWERED.split("revision"), "{{revision}}: error"),
            ),
            help="A model that answers differently finishes differently. Do: a shift that baseline does not "
            "have is a change of answers: compare some by hand before more weight.",
            lowest=0,
        ),
        by_revision(
            "prompt_length", "Prompt length", "tokens",
            "Mean. Do: if revisions differ here, their requests do, and nothing else can be compared.", WHOLE,
        ),
        by_revision(
            "output_length", "Output length", "tokens",
            "Mean. Do: a canary that answers shorter or longer changed its answers; look at some.", _ANSWERED,
        ),
        by_revision(
            "kv_usage", "KV cache in use", "ratio",
            "The fullest engine's. Do: higher at equal requests: its cache is smaller; see below.", WHOLE,
        ),
        Panel(
            key="tokens_per_engine",
            title="Output tokens an engine",
            unit="tokens/s",
            queries=(
                Query(
                    expr=f"{total_rate(vllm('generation_tokens'), _ANSWERED.split('revision'))} / "
                    f"({total(series('up', _ANSWERED, job='engine'), _EACH)} > 0)",
                    legend="{{revision}}",
                ),
            ),
            help="Depends on the load given. Do: compare only where both are full or both get equal shares.",
            lowest=0,
        ),
        by_revision(
            "engine_failures", "Engine failures", "count",
            "Within a graph's step. Do: any of the canary's: take it back, `teapot status` says why.", WHOLE,
        ),
        by_revision(
            "cached_ratio", "Prompt tokens not computed again", "ratio",
            "A new revision's cache is empty at first. Do: judge TTFT when this has come up.", WHOLE,
        ),
    ),
)  # fmt: skip
_CONFIG = Row(
    "What is different in them?",
    (
        Panel(
            key="config",
            title="Configuration, as engines say it",
            kind="table",
            unit="text",
            queries=(config_query(('revision=~"$baseline|$canary"',)),),
            columns=CONFIG_COLUMNS,
            help="One line an engine. Do: a column that differs and should not is the first suspect; "
            "`teapot flags` tells where each value came from.",
            width=24,
            height=6,
        ),
    ),
)

ROLLOUT = Board(
    uid="teapot-rollout",
    title="Rollout",
    help="Is the new revision as good as the one it replaces, under the same load?",
    variables=(DEPLOYMENT, BASELINE, CANARY, ENOUGH),
    rows=(_WHO, GATE, _TABLE, _SIDES, _CONFIG),
)
