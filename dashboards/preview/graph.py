"""A graph over time: lines or stacked areas, axes with units, a legend below.

Owns: how a time series panel is drawn. On the list of those that are not pure, as it draws with matplotlib.
Knows nothing about other kinds of panels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dashboards.panels import Panel
from dashboards.preview.canvas import EDGE, FAINT, Canvas
from dashboards.preview.clock import marks
from dashboards.preview.grid import Box
from dashboards.preview.lines import Line, runs
from dashboards.preview.numbers import number, scale_of, tick_labels
from dashboards.steps import Span

LEGEND_LINE = 18
MOST_LEGEND_LINES = 3
_DASHES = {"dashed": (4, 2.5), "limit": (1.2, 2)}


def draw_graph(
    canvas: Canvas, box: Box, panel: Panel, found: Sequence[Line], span: Span, step_s: float
) -> None:
    """Draw it into a box."""
    rows = legend_rows(canvas, found, box.width) if panel.has_legend else []
    low, high = limits(panel, found)
    ticks = value_ticks(low, high, panel)
    labels = (
        [number(tick, panel.unit) for tick in ticks] if panel.logarithmic else tick_labels(ticks, panel.unit)
    )
    room = max(canvas.width(label, 11) for label in labels) + 10
    place = box.inside(room, 4, 10, 20 + LEGEND_LINE * len(rows))
    axes = canvas.axes(place)
    axes.set_xlim(span.start_s, span.end_s)
    # A line along a limit is not cut in half.
    axes.set_ylim(low - (high - low) * 0.01, high + (high - low) * 0.01)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.set_ylim(low, high)
    axes.set_yticks(ticks, labels)
    axes.set_axisbelow(True)
    times = marks(span.start_s, span.end_s, max(2, int(place.width / 75)))
    axes.set_xticks([at for at, _ in times], [words for _, words in times])
    axes.grid(color=EDGE, linewidth=0.6)
    if panel.stacked:
        stack(axes, [line for line in found if line.style != "limit"], step_s)
        found_lines = [line for line in found if line.style == "limit"]
    else:
        found_lines = list(found)
    for line in found_lines:
        plot(axes, line, step_s)
    draw_legend(canvas, box, rows)


def limits(panel: Panel, found: Sequence[Line]) -> tuple[float, float]:
    """From where to where the axis goes: what is said of the panel, else what is drawn and a little room."""
    values = [value for line in found for _, value in line.points]
    if panel.logarithmic:
        above = [value for value in values if value > 0] or [1.0]
        return 10 ** math.floor(math.log10(min(above))), 10 ** (math.floor(math.log10(max(above))) + 1)
    if panel.stacked:
        values += [value for _, value in totals([line for line in found if line.style != "limit"])]
    low = panel.lowest if panel.lowest is not None else min(values)
    high = panel.highest if panel.highest is not None else max(values)
    if high <= low:
        low, high = (low, low + 1.0) if low == 0 else (low - abs(low) * 0.1, low + abs(low) * 0.1)
    room = (high - low) * 0.06
    return (
        low if panel.lowest is not None else low - room,
        high if panel.highest is not None else high + room,
    )


def value_ticks(low: float, high: float, panel: Panel) -> list[float]:
    """Four or so values within the limits that are round in what they are shown in (MiB, minutes)."""
    if panel.logarithmic:
        return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]
    one, _ = scale_of(max(abs(low), abs(high)), panel.unit)
    locator = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10], integer=panel.decimals == 0)
    ticks = locator.tick_values(low / one, high / one)
    room = (high - low) * 1e-9
    return [float(tick) * one for tick in ticks if low - room <= tick * one <= high + room]


def totals(found: Sequence[Line]) -> list[tuple[float, float]]:
    """The sum of all lines at every time that any of them has."""
    sums: dict[float, float] = {}
    for line in found:
        for at, value in line.points:
            sums[at] = sums.get(at, 0.0) + value
    return sorted(sums.items())


def stack(axes: Axes, found: Sequence[Line], step_s: float) -> None:
    """Areas upon each other; what is absent counts as nothing."""
    times = [at for at, _ in totals(found)]
    below = dict.fromkeys(times, 0.0)
    for line in found:
        points = dict(line.points)
        top = {at: below[at] + points.get(at, 0.0) for at in times}
        for piece in runs([(at, top[at]) for at in times], step_s):
            at = [time for time, _ in piece]
            upper = [value for _, value in piece]
            lower = [below[time] for time in at]
            axes.fill_between(at, lower, upper, color=line.color, alpha=0.6, linewidth=0)
        below = top


def plot(axes: Axes, line: Line, step_s: float) -> None:
    """One line, with its holes."""
    dashes = _DASHES.get(line.style)
    for piece in runs(line.points, step_s):
        at, values = zip(*piece, strict=True)
        drawn = axes.plot(at, values, color=line.color, linewidth=1.5, marker=_dot(piece), markersize=2.5)
        if dashes:
            drawn[0].set_dashes(dashes)


def legend_rows(canvas: Canvas, found: Sequence[Line], width: float) -> list[list[tuple[float, Line, str]]]:
    """Names from the left, as many in a row as fit: (x, line, name)."""
    rows: list[list[tuple[float, Line, str]]] = [[]]
    x = 0.0
    for line in {line.name: line for line in found}.values():
        name = canvas.fitted(line.name, width - 50, 11)
        wide = 20 + canvas.width(name, 11) + 14
        if x and x + wide > width - 20:
            rows.append([])
            x = 0.0
        rows[-1].append((x, line, name))
        x += wide
    return rows[:MOST_LEGEND_LINES]


def draw_legend(canvas: Canvas, box: Box, rows: Sequence[Sequence[tuple[float, Line, str]]]) -> None:
    """The rows at the lower edge of a box."""
    top = box.bottom - LEGEND_LINE * len(rows)
    for index, row in enumerate(rows):
        y = top + LEGEND_LINE * (index + 0.5)
        for x, line, name in row:
            thin = line.style != "line"
            canvas.rectangle(Box(box.x + 10 + x, y - (1 if thin else 2), 14, 2 if thin else 4), line.color)
            canvas.text(box.x + 29 + x, y, name, px=11, color=FAINT)


def _dot(piece: Sequence[object]) -> str | None:
    """A single point is no line, and would not be seen."""
    return "o" if len(piece) == 1 else None
