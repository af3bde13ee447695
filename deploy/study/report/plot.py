"""Points and lines between two axes, with intervals: the page's charts of one figure against another.

Owns: axes, markers, whiskers, and how what was not measured looks (hollow and dashed). Knows nothing about
what is drawn. Colour is never alone: each series has a marker of its own, and the tag has a look of its own.

A point is a focusable element over the SVG, so that a pointer, a keyboard and a screen reader find the same
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from deploy.study.report.looks import colour, marker
from deploy.study.results import Tag
from loadgen.report.charts import Frame, framed, rounded
from loadgen.report.scales import PLOT, Scale, fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point. The ends of intervals are None where there is none."""

    x: float
    y: float
    tip: str
    """What it says when it is pointed at or focused."""
    y_low: float | None = None
    y_high: float | None = None
    x_low: float | None = None
    x_high: float | None = None
    tag: Tag = "measured"
    label: str = ""
    """Words that always stand beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points of one colour and marker, in order."""

    name: str
    points: tuple[Point, ...]
    look: int
    """The number of its colour and marker; 0 is the control's."""
    line: bool = True
    markers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: the words beside it, its scale, its ticks as (value, words)."""

    label: str
    scale: Scale
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A dashed horizontal line."""

    y: float
    label: str


def axis(label: str, values: Iterable[float], *, log: bool | None = None, zero: bool = True) -> Axis:
    """An axis that holds these values. `log` None: decades where they differ much.

    `zero` False begins near the smallest value, where differences matter and not sizes. What is not above 0
    has no place among decades, and stands at the lower border of them.
    """
    if log:
        low, high = _range([value for value in values if value > 0] or [1.0])
        scale = Scale(low / 1.15, high * 1.15, log=True)
        return _axis(f"{label}, logarithmic", scale)
    low, high = _range(values)
    if zero:
        scale = fitting(low, high) if log is None else Scale(0.0, high * 1.06 if high > 0 else 1.0)
    else:
        edge = (high - low) * 0.12 or abs(high) * 0.02 or 1.0
        scale = Scale(low - edge, high + edge)
    return _axis(f"{label}, logarithmic" if scale.log else label, scale)


def _axis(label: str, scale: Scale) -> Axis:
    return Axis(label=label, scale=scale, ticks=tuple((t, f"{t:,.6g}") for t in rounded(scale.ticks())))


def counted(label: str, values: Iterable[float], words: Sequence[tuple[float, str]] = ()) -> Axis:
    """An axis in powers of two, such as batches and contexts, with a tick at each value, or at `words`."""
    found = sorted(set(values))
    low, high = found[0], found[-1]
    scale = Scale(low / 1.2, high * 1.2, log=True)
    ticks = words or [(value, f"{value:,g}") for value in found]
    inside = tuple((value, text) for value, text in ticks if low <= value <= high)
    return Axis(label=label, scale=scale, ticks=_apart(inside, scale))


def _apart(ticks: Sequence[tuple[float, str]], scale: Scale) -> tuple[tuple[float, str], ...]:
    """Without those whose words would touch the one before; the last stays."""
    kept: list[tuple[float, str]] = []
    for tick in reversed(ticks):
        if not kept or scale.at(kept[-1][0]) - scale.at(tick[0]) >= 85:
            kept.append(tick)
    return tuple(reversed(kept))


def _range(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)


def ends(series: Iterable[Series], way: str) -> list[float]:
    """All values along `x` or `y`, those of intervals included."""
    names = (way, f"{way}_low", f"{way}_high")
    points = [point for row in series for point in row.points]
    return [value for point in points for name in names if (value := getattr(point, name)) is not None]


def plot(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    says: str,
    levels: Sequence[Level] = (),
    steps: Sequence[Series] = (),
    tall: int = 300,
) -> str:
    """Draw series between two axes; `says` is the chart's text alternative.

    `steps` are lines between points of the series that have no name in the legend.
    """
    body = "".join(_level(level, y) for level in levels)
    body += "".join(_line(row, x, y) + _whiskers(row, x, y) for row in (*steps, *series))
    over = "".join(_arrows(row, x, y) for row in steps) + "".join(_markers(row, x, y) for row in series)
    over += "".join(_level_label(level, y) for level in levels)
    drawn = framed(
        body,
        Frame(
            says=says,
            x_label=x.label,
            x_ticks=[(x.scale.at(value), words) for value, words in x.ticks],
            y_label=y.label,
            y_ticks=[(y.scale.at(value), words) for value, words in y.ticks],
            height_px=tall,
            over=f'<div class="points">{over}</div>',
        ),
    )
    return legend(series) + drawn


def legend(series: Sequence[Series]) -> str:
    """The names of the series; none for a single one."""
    if len(series) < 2:
        return ""
    rows = "".join(
        f'<li><b class="look{_look(row)}">{marker(row.look)}</b>{escape(row.name)}{_tag(row)}</li>'
        for row in series
    )
    return f'<ul class="legend">{rows}</ul>'


def _tag(row: Series) -> str:
    tags = {point.tag for point in row.points} - {"measured"}
    return f" <small>{', '.join(sorted(tags))}</small>" if tags else ""


def _look(row: Series) -> str:
    hollow = row.points and all(point.tag != "measured" for point in row.points)
    return f"{colour(row.look)}{' hollow' if hollow else ''}"


def _at(point: Point, x: Axis, y: Axis) -> tuple[float, float]:
    return x.scale.at(point.x), PLOT - y.scale.at(point.y)


def _line(row: Series, x: Axis, y: Axis) -> str:
    """Parts of a line are dashed where an end of theirs is not measured."""
    if not row.line:
        return ""
    parts = []
    for before, after in zip(row.points, row.points[1:], strict=False):
        (x1, y1), (x2, y2) = _at(before, x, y), _at(after, x, y)
        dashed = "" if before.tag == after.tag == "measured" else " dashed"
        css = f"series look{colour(row.look)}{dashed}"
        parts.append(f'<path class="{css}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>')
    return "".join(parts)


def _arrows(row: Series, x: Axis, y: Axis) -> str:
    """Heads half-way along each part; the style sheet turns them, as only it knows the plot's width."""
    parts = []
    for before, after in zip(row.points, row.points[1:], strict=False):
        (x1, y1), (x2, y2) = _at(before, x, y), _at(after, x, y)
        place = f"left:{(x1 + x2) / 20:.2f}%;top:{(y1 + y2) / 20:.2f}%"
        turn = f"--dx:{(x2 - x1) / 10:.2f};--dy:{(y2 - y1) / 10:.2f}"
        parts.append(f'<i class="arrow" style="{place};{turn}">\u276f</i>')
    return "".join(parts)


def _whiskers(row: Series, x: Axis, y: Axis) -> str:
    parts = []
    for point in row.points:
        across, down = _at(point, x, y)
        if point.y_low is not None and point.y_high is not None:
            top, bottom = PLOT - y.scale.at(point.y_high), PLOT - y.scale.at(point.y_low)
            parts.append(f"M{across:.1f} {top:.1f}V{bottom:.1f}")
        if point.x_low is not None and point.x_high is not None:
            parts.append(f"M{x.scale.at(point.x_low):.1f} {down:.1f}H{x.scale.at(point.x_high):.1f}")
    css = f"whisker look{colour(row.look)}"
    return f'<path class="{css}" d="{"".join(parts)}"/>' if parts else ""


def _markers(row: Series, x: Axis, y: Axis) -> str:
    if not row.markers:
        return ""
    parts = []
    for point in row.points:
        across, up = x.scale.at(point.x) / 10, y.scale.at(point.y) / 10
        hollow = "" if point.tag == "measured" else " hollow"
        side = " west" if across > 55 else ""
        label = f'<span class="beside">{escape(point.label)}</span>' if point.label else ""
        parts.append(
            f'<span class="point look{colour(row.look)}{hollow}{side}" tabindex="0" role="img"'
            f' style="left:{across:.2f}%;bottom:{up:.2f}%" aria-label="{escape(point.tip)}"'
            f' data-tip="{escape(point.tip)}"><b>{marker(row.look)}</b>{label}</span>'
        )
    return "".join(parts)


def _level(level: Level, y: Axis) -> str:
    return f'<path class="level" d="M0 {PLOT - y.scale.at(level.y):.1f}H{PLOT:.0f}"/>'


def _level_label(level: Level, y: Axis) -> str:
    return f'<span class="level" style="bottom:{y.scale.at(level.y) / 10:.2f}%">{escape(level.label)}</span>'
