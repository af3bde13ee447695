"""What a board is: rows of panels, each with its queries, unit, thresholds and help.

Owns: the types that boards are written in, and what they may be made of. Knows nothing about Grafana's JSON
(`render`), about where a panel lies (`layout`) or about any one board.

`teapot dashboards check` and `preview` work on these, not on the JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dashboards.promql import variables

Kind = Literal["timeseries", "stat", "bargauge", "table", "state"]
Unit = Literal[
    "seconds", "ratio", "bytes", "bytes/s", "tokens", "tokens/s", "requests", "requests/s", "count",
    "events/s", "dollars", "factor", "text",
]  # fmt: skip
"""`ratio` is 0 to 1, shown in percent; `factor` is a number such as a burn rate; `text` has no number."""
Color = Literal["green", "amber", "red", "blue", "light_blue", "dark_blue", "purple", "grey", "teal"]
Style = Literal["line", "dashed", "limit"]
"""`dashed`: a second look at the same (means beside quantiles). `limit`: an objective or a capacity."""


Word = tuple[float, str, Color]
"""What a value is called, and its colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to Prometheus and how its answer is drawn."""

    expr: str
    legend: str = ""
    """With `{{label}}`, as Grafana has it."""
    instant: bool = False
    color: Color | None = None
    """None: by the series' name, so that the same name has the same colour everywhere."""
    style: Style = "line"
    optional: str | None = None
    """Why this one may have no data although the panel has: "only with an objective for TTFT"."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """From this value on (None: from the lowest), this colour."""

    value: float | None
    color: Color


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: the label (or `Value #A`) it shows, under which title."""

    label: str
    title: str
    unit: Unit | None = None
    decimals: int | None = None
    """None: as the panel has it."""
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. `help` says what it means and, after "Do:", what to do about it."""

    key: str
    """Unique in its board."""
    title: str
    unit: Unit
    queries: tuple[Query, ...]
    help: str
    kind: Kind = "timeseries"
    width: int = 8
    """Of 24 columns."""
    height: int = 8
    """A stat has 4, a graph 8."""
    thresholds: tuple[Threshold, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    decimals: int | None = None
    stacked: bool = False
    logarithmic: bool = False
    """For what an idle hour makes a thousand times larger; then without `lowest`."""
    colors: tuple[tuple[str, Color], ...] = ()
    """Of series by their name, where a query has several whose names are known."""
    words: tuple[Word, ...] = ()
    """What values are called (1: "in effect"), where a number says nothing."""
    columns: tuple[Column, ...] = ()
    """Of tables: these labels, in this order; others are hidden."""
    empty: str | None = None
    """Said instead of "No data"."""
    optional: str | None = None
    """Why it may have no data: "only with speculation". Then empty is `not in use` and not dead."""

    @property
    def has_legend(self) -> bool:
        """Whether its series need names: not where there is only one."""
        return len(self.queries) > 1 or any("{{" in query.legend for query in self.queries)


@dataclass(frozen=True, slots=True)
class Row:
    """A heading and the panels under it, filled from the left, 24 columns wide."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A choice at the top of a board. Without a `query` that lists values it is a text box with `default`."""

    name: str
    title: str
    query: str | None = None
    many: bool = False
    """Several may be chosen, or all (`.*`, which also matches series without the label)."""
    last_first: bool = False
    """The last value by name is the one chosen at first, not the first."""
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard. Its uid is for ever: links, bookmarks and annotations hold it."""

    uid: str
    title: str
    help: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    marks: tuple[str, ...] = ("deployment:$deployment",)
    """Tags of the annotations on its graphs, beside `teapot`; see docs/dashboards.md."""
    span: str = "1h"
    """How far back it looks when it is opened."""

    def panels(self) -> Iterator[Panel]:
        """All panels, in the order they are read."""
        for row in self.rows:
            yield from row.panels

    def used(self) -> frozenset[str]:
        """The variables that any query of it uses."""
        found: frozenset[str] = frozenset()
        for panel in self.panels():
            for query in panel.queries:
                found |= variables(query.expr)
        return found


def ref(number: int) -> str:
    """What Grafana calls the query with this number, from 0."""
    return chr(ord("A") + number)
