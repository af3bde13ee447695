"""A timeline of states: a row for each series, coloured by what its value is called.

Owns: how it is drawn. On the list of those that are not pure, as it draws with
matplotlib. Knows nothing about other kinds of panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboards.panels import Panel
from dashboards.preview.canvas import FAINT, Canvas
from dashboards.preview.clock import marks
from dashboards.preview.graph import LEGEND_LINE
from dashboards.preview.grid import Box
from dashboards.preview.lines import COLORS, Line
from dashboards.preview.tiles import TRACK, shown, word_color
from dashboards.steps import Span

TALLEST = 34


def spells(line: Line, step_s: float, end_s: float) -> Iterator[tuple[float, float, float]]:
    """(from, to, value) while it was the same; what was not seen for longer than a step is a hole."""
    begin, last, value = line.points[0][0], *line.points[0]
    for at, now in line.points[1:]:
        if now != value or at - last > 1.5 * step_s:
            yield begin, at if at - last <= 1.5 * step_s else last + step_s, value
            begin = at
        last, value = at, now
    yield begin, min(last + step_s, max(end_s, begin)), value


def draw_states(
    canvas: Canvas, box: Box, panel: Panel, found: Sequence[Line], span: Span, step_s: float
) -> None:
    """Draw it into a box."""
    name_room = min(box.width * 0.45, max(canvas.width(line.name, 11) for line in found) + 12)
    place = box.inside(10 + name_room, 4, 10, 20 + LEGEND_LINE)
    fit = max(1, min(len(found), int(place.height / 14)))
    pitch = min(TALLEST, place.height / fit)
    scale = place.width / span.length_s
    for index, line in enumerate(found[:fit]):
        y = place.y + index * pitch
        name = canvas.fitted(line.name, name_room - 8, 11)
        canvas.text(box.x + 10, y + pitch / 2, name, px=11, color=FAINT)
        canvas.rectangle(Box(place.x, y + 2, place.width, pitch - 4), TRACK)
        for begin, end, value in spells(line, step_s, span.end_s):
            x = place.x + max(0.0, begin - span.start_s) * scale
            color = word_color(panel, value) or line.color
            width = max(1.0, (min(end, span.end_s) - max(begin, span.start_s)) * scale)
            canvas.rectangle(Box(x, y + 2, width, pitch - 4), color)
    for at, words in marks(span.start_s, span.end_s, max(2, int(place.width / 75))):
        x = place.x + (at - span.start_s) * scale
        canvas.text(x, place.y + fit * pitch + 10, words, px=11, color=FAINT, side="center")
    _legend(canvas, box, panel, found[:fit])


def _legend(canvas: Canvas, box: Box, panel: Panel, found: Sequence[Line]) -> None:
    seen = {value for line in found for _, value in line.points}
    x, y = box.x + 10, box.bottom - LEGEND_LINE / 2
    for value, _, color in panel.words:
        if value in seen:
            canvas.rectangle(Box(x, y - 4, 8, 8), COLORS[color])
            canvas.text(x + 13, y, shown(panel, value), px=11, color=FAINT)
            x += 13 + canvas.width(shown(panel, value), 11) + 16
