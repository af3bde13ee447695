"""The board of cost: what a token costs on these devices, and what caches save.

Owns: what it shows and in which order. Knows nothing about how it is drawn, or what a device really costs:
both numbers are typed in at its top.
"""

from __future__ import annotations

from dashboards.boards.choices import ANSWERING, DEPLOYMENT, DEVICES, PRICE, WHOLE
from dashboards.boards.looks import ask
from dashboards.panels import Board, Panel, Query, Row, Threshold
from dashboards.promql import RANGE, Scope
from dashboards.slis import SLIS

_NEEDS = "only with devices and a price at the top"
_UNSET = "Set devices and $ per device-hour at the top"
_IN_RANGE = WHOLE.over(RANGE)
_BLUE = (Threshold(None, "blue"),)


def _output(scope: Scope) -> str:
    return SLIS["engine_output_tokens"].query(scope.only(ANSWERING))


def _prompt(scope: Scope) -> str:
    """Prompt tokens that were served: computed, or found in a cache."""
    return " + ".join(SLIS[key].query(scope) for key in ("computed_tokens", "cached_tokens"))


def _dollars_per_million(tokens_per_s: str) -> str:
    """Nothing without a price or devices, and nothing without tokens."""
    return f"1e6 * $devices * $price / 3600 / (({tokens_per_s}) > 0) > 0"


def _tile(key: str, title: str, expr: str, words: str) -> Panel:
    return Panel(
        key=key, title=title, kind="stat", unit="dollars", queries=(Query(expr=expr, instant=True),),
        help=words, width=6, height=4, thresholds=_BLUE, empty=_UNSET, optional=_NEEDS,
    )  # fmt: skip


_TILES = Row(
    "What did it cost, in the range chosen?",
    (
        _tile(
            "spent", "Spent", "vector($devices * $price * $__range_s / 3600) > 0",
            "Devices times hours times price, busy or not. Do: set both numbers at the top of the board.",
        ),
        _tile(
            "per_output", "A million output tokens", _dollars_per_million(_output(_IN_RANGE)),
            "All that was spent, by the output tokens made. Do: compare with what an API asks; idle hours "
            "are in it.",
        ),
        _tile(
            "per_token", "A million tokens, prompt and output",
            _dollars_per_million(f"{_prompt(_IN_RANGE)} + {_output(_IN_RANGE)}"),
            "All that was spent, by all tokens, cached ones included. Do: for long prompts this is the "
            "number to compare.",
        ),
        Panel(
            key="cached_ratio", title="Prompt tokens that cost nothing", kind="stat", unit="ratio",
            queries=(Query(expr=SLIS["cached_ratio"].query(_IN_RANGE), instant=True),),
            help="Served from caches. Do: each percent is prefill that need not be paid; see Levers.",
            width=6, height=4, decimals=1, lowest=0, highest=1, thresholds=_BLUE,
        ),
    ),
)  # fmt: skip
_OVER_TIME = Row(
    "When is it cheap?",
    (
        Panel(
            key="price_over_time",
            title="A million output tokens",
            unit="dollars",
            queries=(Query(expr=_dollars_per_million(_output(WHOLE)), color="blue"),),
            help="At this moment's speed. Do: idle hours are dear: fewer engines then, or batch work.",
            logarithmic=True,
            empty=_UNSET,
            optional=_NEEDS,
        ),
        Panel(
            key="cached_against_computed",
            title="A million tokens: served, and computed",
            unit="dollars",
            queries=(
                Query(
                    expr=_dollars_per_million(f"{SLIS['computed_tokens'].query(WHOLE)} + {_output(WHOLE)}"),
                    legend="computed only", color="purple",
                ),
                Query(
                    expr=_dollars_per_million(f"{_prompt(WHOLE)} + {_output(WHOLE)}"),
                    legend="served, with cached", color="green",
                ),
            ),
            help="The gap is what caches save. Do: where there is none, prompts share no beginning or the "
            "cache is too small.",
            logarithmic=True,
            empty=_UNSET,
            optional=_NEEDS,
        ),
        Panel(
            key="per_device",
            title="Output tokens a device",
            unit="tokens/s",
            queries=(
                Query(
                    expr=f"{_output(WHOLE)} / on () (vector($devices) > 0)", color="purple",
                ),
            ),
            help="What a device gives. Do: compare with `teapot plan` at this concurrency; far below, see "
            "Engine for what binds.",
            lowest=0,
            empty="Set devices at the top",
            optional="only with devices at the top",
        ),
    ),
)  # fmt: skip
_WHAT_FOR = Row(
    "What for?",
    (
        Panel(
            key="tokens",
            title="Tokens: computed, cached, made",
            unit="tokens/s",
            queries=(
                ask("computed_tokens", WHOLE, "prompt, computed", color="purple"),
                ask("cached_tokens", WHOLE, "prompt, cached", color="green"),
                ask("engine_output_tokens", WHOLE.only(ANSWERING), "output", color="blue"),
            ),
            stacked=True,
            help="Do: mostly prompts: caches and shorter prompts save; mostly output: speculation, "
            "quantization and shorter answers do.",
            lowest=0,
            width=12,
        ),
        Panel(
            key="running",
            title="Requests at once, an engine",
            unit="requests",
            queries=(
                ask("running", WHOLE.split("instance"), "{{instance}}"),
            ),
            help="More at once is cheaper until TPOT suffers. Do: far below max_num_seqs most of the day: "
            "fewer engines would do.",
            lowest=0,
            decimals=0,
            width=12,
        ),
    ),
)  # fmt: skip

COST = Board(
    uid="teapot-cost",
    title="Cost",
    help="What a million tokens costs, and what caches save. Devices and price are typed in.",
    variables=(DEPLOYMENT, DEVICES, PRICE),
    rows=(_TILES, _OVER_TIME, _WHAT_FOR),
    span="24h",
)
