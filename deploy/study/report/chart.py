"""What a chart of the page is: its definition, what it needs, and the function that draws it.

Owns: the types, and bars and tables made of a study's figures. Knows nothing about any one chart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deploy.study.report.bars import Bar, Group
from deploy.study.report.figures import amount, interval, told
from deploy.study.report.plot import Point
from deploy.study.report.view import View
from deploy.study.results import Figure, Tag
from deploy.study.rows import Arm

HEAD = ("arm", "workload", "measure", "value", "95 % interval", "n", "tag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A chart that the data allowed: its HTML, the same as a table, and a line below it."""

    body: str
    rows: tuple[tuple[str, ...], ...]
    head: tuple[str, ...] = HEAD
    caption: str = ""
    tag: Tag = "measured"
    """Of a table whose rows do not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One row of the table of charts."""

    id: str
    title: str
    definition: str
    """How each number in it comes about, in words that a reader can check."""
    inputs: str
    """What a study must have for it."""
    draw: Callable[[View], Drawn | None]
    """None where the study does not have it."""


def row(arm: str, workload: str | None, measure: str, figure: Figure) -> tuple[str, ...]:
    """One figure as a line of the table below a chart."""
    return (
        arm,
        workload or "",
        measure,
        amount(figure.value, figure.unit),
        interval(figure),
        str(figure.n),
        figure.tag,
    )


def bar(view: View, arm: Arm, figure: Figure, what: str) -> Bar:
    """One figure of an arm as a bar."""
    return Bar(
        name=arm.name,
        value=figure.value,
        words=amount(figure.value, figure.unit),
        tip=f"{arm.name}: {what} {told(figure)}",
        low=figure.low,
        high=figure.high,
        tag=figure.tag,
        look=view.look(arm.name),
    )


def by_workload(
    view: View, measure: str, what: str, arms: Iterable[Arm] | None = None
) -> tuple[list[Group], list[tuple[str, ...]]]:
    """Bars of a measure, one group a workload, and the same as rows."""
    chosen = None if arms is None else {arm.name for arm in arms}
    groups, rows = [], []
    for workload in view.workloads():
        found = [
            (arm, figure)
            for arm, figure in view.measured(measure, workload)
            if chosen is None or arm.name in chosen
        ]
        if found:
            groups.append(Group(name=workload, bars=tuple(bar(view, *pair, what) for pair in found)))
            rows += [row(arm.name, workload, what, figure) for arm, figure in found]
    return groups, rows


def point(x: float, figure: Figure, tip: str, *, x_figure: Figure | None = None, label: str = "") -> Point:
    """A figure as a point above `x`, with its interval; `x_figure` gives the interval across."""
    return Point(
        x=x,
        y=figure.value,
        y_low=figure.low,
        y_high=figure.high,
        x_low=x_figure.low if x_figure else None,
        x_high=x_figure.high if x_figure else None,
        tip=f"{tip} {told(figure)}",
        tag=figure.tag,
        label=label,
    )
