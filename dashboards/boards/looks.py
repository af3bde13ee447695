"""What the boards have in common: the same thing has the same colour, name and words everywhere.

Owns: colours, queries and panels that several boards take. Knows nothing about any one board.
"""

from __future__ import annotations

from dashboards.panels import Color, Panel, Query, Style, Unit, Word
from dashboards.promql import Scope, series, total
from dashboards.slis import SLIS, own

CLIENT: Color = "teal"
GATEWAY: Color = "blue"
ENGINE: Color = "purple"
"""Who measured."""
GOOD: Color = "green"
BAD: Color = "red"

SUMMARIES: tuple[tuple[str, Color, Style], ...] = (
    ("p50", "light_blue", "line"),
    ("p95", "blue", "line"),
    ("p99", "dark_blue", "line"),
    ("mean", "grey", "dashed"),
)
OBJECTIVES: tuple[tuple[str, Color], ...] = (
    ("availability", "green"),
    ("ttft", "blue"),
    ("tpot", "purple"),
    ("e2e", "teal"),
)
OUTCOMES: tuple[tuple[str, Color], ...] = (
    ("ok", "green"),
    ("client_gone", "amber"),
    ("rejected", "purple"),
    ("timeout", "blue"),
    ("upstream_error", "red"),
    ("error", "red"),
)
FINISHED: tuple[tuple[str, Color], ...] = (
    ("stop", "green"),
    ("length", "blue"),
    ("abort", "amber"),
    ("repetition", "purple"),
    ("error", "red"),
)
SOURCES: tuple[tuple[str, Color], ...] = (
    ("local_compute", "purple"),
    ("local_cache_hit", "green"),
    ("external_kv_transfer", "teal"),
)
UP: tuple[Word, ...] = ((1, "up", "green"), (0, "down", "red"))
IN_EFFECT: tuple[Word, ...] = ((1, "in effect", "green"), (0, "not in effect", "red"))


def ask(
    sli: str,
    scope: Scope,
    legend: str = "",
    *,
    color: Color | None = None,
    style: Style = "line",
    optional: str | None = None,
) -> Query:
    """An indicator as a query."""
    expr = SLIS[sli].query(scope)
    return Query(expr=expr, legend=legend or SLIS[sli].title, color=color, style=style, optional=optional)


def objective(slo: str, scope: Scope) -> Query:
    """What the deployment promised, as a line."""
    return Query(
        expr=total(series(own("slo_threshold"), scope, slo=slo), scope, "min"),
        legend="objective",
        color=BAD,
        style="limit",
        optional=f"only with an objective for {slo}",
    )


def latency(prefix: str, scope: Scope) -> tuple[Query, ...]:
    """Median, tails and mean of a latency."""
    return tuple(
        ask(f"{prefix}_{name}", scope, name, color=color, style=style) for name, color, style in SUMMARIES
    )


def by_revision(sli: str, title: str, unit: Unit, help_text: str, scope: Scope) -> Panel:
    """An indicator of all revisions side by side. The scale ends at what there is: 1 % bad must be seen."""
    return Panel(
        key=f"{sli}_by_revision",
        title=title,
        unit=unit,
        queries=(ask(sli, scope.split("revision"), "{{revision}}"),),
        help=help_text,
        lowest=0,
    )
