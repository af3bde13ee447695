"""One number large (stat), or a bar for each (bar gauge).

Owns: how these two kinds are drawn. On the list of those that are not pure, as it draws with
matplotlib. Knows nothing about other kinds of panels.
"""

from __future__ import annotations

from collections.abc import Sequence

from dashboards.panels import Panel
from dashboards.preview.canvas import FAINT, Canvas
from dashboards.preview.grid import Box
from dashboards.preview.lines import COLORS, Line, threshold_color
from dashboards.preview.numbers import number
from dashboards.steps import Span

LARGEST, SMALLEST = 40.0, 13.0
TRACK = "#eceef1"
BAR_ROW = 44


def draw_stat(
    canvas: Canvas, box: Box, panel: Panel, found: Sequence[Line], span: Span, _step_s: float
) -> None:
    """A tile for each series, side by side, with its course behind it where it has one."""
    width = box.width / len(found)
    sparks = any(len(line.points) > 1 for line in found)
    named = panel.has_legend
    texts = [shown(panel, line.last) for line in found]
    px = min(fitting(canvas, text, width - 20, box.height * (0.4 if named else 0.55)) for text in texts)
    for index, (line, text) in enumerate(zip(found, texts, strict=True)):
        tile = Box(box.x + index * width, box.y, width, box.height)
        color = word_color(panel, line.last) or threshold_color(panel, line.last) or line.color
        if sparks:
            _spark(canvas, tile, line, color, span)
        middle = tile.x + tile.width / 2
        y = tile.y + tile.height * (0.62 if named else 0.5)
        canvas.text(middle, y, text, px=px, color=color, weight="bold", side="center")
        if named:
            name = canvas.fitted(line.name, width - 12, 12)
            canvas.text(middle, tile.y + tile.height * 0.2, name, color=FAINT, side="center")


def draw_bars(
    canvas: Canvas, box: Box, panel: Panel, found: Sequence[Line], _span: Span, _step_s: float
) -> None:
    """A bar for each series below its name, against the highest there may be, or there is."""
    low = panel.lowest or 0.0
    high = panel.highest if panel.highest is not None else max(line.last for line in found)
    rows = max(1, min(len(found), int(box.height / BAR_ROW)))
    pitch = min(box.height / rows, 56)
    texts = [shown(panel, line.last) for line in found[:rows]]
    room = max(canvas.width(text, 14, "bold") for text in texts) + 14
    for index, (line, text) in enumerate(zip(found[:rows], texts, strict=True)):
        y = box.y + index * pitch
        color = word_color(panel, line.last) or threshold_color(panel, line.last) or line.color
        bar = Box(box.x + 10, y + 18, box.width - 20 - room, pitch - 26)
        share = min(1.0, max(0.0, (line.last - low) / (high - low))) if high > low else 0.0
        canvas.text(bar.x, y + 8, canvas.fitted(line.name, box.width - 24, 11), px=11, color=FAINT)
        canvas.rectangle(bar, TRACK)
        canvas.rectangle(Box(bar.x, bar.y, bar.width * share, bar.height), color)
        canvas.text(
            box.right - 10, bar.y + bar.height / 2, text, px=14, color=color, weight="bold", side="right"
        )
    if len(found) > rows:
        canvas.text(
            box.right - 10, box.bottom - 6, f"and {len(found) - rows} more", px=10, color=FAINT, side="right"
        )


def shown(panel: Panel, value: float) -> str:
    """The word for a value, or the number with its unit."""
    word = next((text for said, text, _ in panel.words if said == value), None)
    return word or number(value, panel.unit, panel.decimals)


def word_color(panel: Panel, value: float) -> str | None:
    """The colour of the word for a value."""
    return next((COLORS[color] for said, _, color in panel.words if said == value), None)


def fitting(canvas: Canvas, text: str, room: float, height: float) -> float:
    """The largest size at which a text fits, in pixels."""
    wide = canvas.width(text, 100, "bold")
    return max(SMALLEST, min(LARGEST, height, 100 * room / wide if wide else LARGEST))


def _spark(canvas: Canvas, tile: Box, line: Line, color: str, span: Span) -> None:
    axes = canvas.axes(tile.inside(4, tile.height * 0.55, 4, 2))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(span.start_s, span.end_s)
    at, values = zip(*line.points, strict=True)
    floor = min(0.0, *values) if len(values) > 1 else 0.0
    axes.set_ylim(floor, (max(values) or 1.0) * 1.05)
    axes.fill_between(at, [floor] * len(at), values, color=color, alpha=0.13, linewidth=0)
