"""A whole board on a page: its header, headings, and each panel by its kind.

Owns: the registry of kinds, and what is said where there is nothing to draw. On the list of those that are
not pure, as it draws with matplotlib. Knows nothing about how a kind is drawn, or where answers come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from dashboards.judging import Answer
from dashboards.panels import Board, Kind, Panel, Row
from dashboards.preview.canvas import EDGE, FAINT, PAPER, Canvas
from dashboards.preview.clock import at_utc
from dashboards.preview.graph import draw_graph
from dashboards.preview.grid import MARGIN, WIDTH, Box, boxes, height
from dashboards.preview.lines import COLORS, Line, lines
from dashboards.preview.states import draw_states
from dashboards.preview.tables import draw_table
from dashboards.preview.tiles import draw_bars, draw_stat
from dashboards.steps import Span

NOTE = "Preview, drawn by teapot and not by Grafana"
TITLE = 30
Painter = Callable[[Canvas, Box, Panel, Sequence[Line], Span, float], None]
PAINTERS: Mapping[Kind, Painter] = {
    "timeseries": draw_graph,
    "stat": draw_stat,
    "bargauge": draw_bars,
    "state": draw_states,
}
"""Tables are apart: they are of labels and not of lines."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a Prometheus answered to a board: the choices made, and each panel's answers by its key."""

    prometheus: str
    span: Span
    step_s: float
    values: Mapping[str, str]
    answers: Mapping[str, Sequence[Answer]]


def draw_board(board: Board, seen: Seen) -> Canvas:
    """The page of a board."""
    canvas = Canvas(height(board))
    _header(canvas, board, seen)
    for place, box in boxes(board):
        if isinstance(place.what, Row):
            title = canvas.fitted(place.what.title, box.width, 15, "bold")
            canvas.text(box.x, box.y + box.height / 2, title, px=15, weight="bold")
        else:
            _panel(canvas, box, place.what, seen)
    return canvas


def nothing(panel: Panel, answers: Sequence[Answer]) -> tuple[str, str]:
    """What stands where there is nothing to draw, and its colour."""
    for answer in answers:
        if answer.error:
            return f"Cannot be evaluated: {answer.error}", COLORS["red"]
    if panel.empty:
        return panel.empty, FAINT
    if panel.optional:
        return f"Not in use: {panel.optional}", FAINT
    return "No data", FAINT


def _header(canvas: Canvas, board: Board, seen: Seen) -> None:
    canvas.text(MARGIN, 24, f"teapot: {board.title}", px=22, weight="bold")
    canvas.text(MARGIN, 52, canvas.fitted(board.help, 700, 13), px=13, color=FAINT)
    chosen = "  ·  ".join(
        f"{variable.title}: {_choice(seen.values.get(variable.name, ''))}" for variable in board.variables
    )
    canvas.text(MARGIN, 72, canvas.fitted(chosen, 700, 12), color=FAINT)
    end = at_utc(seen.span.end_s, "%H:%M:%S")
    when = f"{at_utc(seen.span.start_s)} to {end} UTC"
    right = WIDTH - MARGIN
    canvas.text(right, 24, NOTE, px=14, weight="bold", color=COLORS["red"], side="right")
    canvas.text(right, 52, when, px=13, color=FAINT, side="right")
    canvas.text(right, 72, f"Prometheus at {seen.prometheus}", color=FAINT, side="right")


def _choice(value: str) -> str:
    return "all" if value == ".*" else value or "none"


def _panel(canvas: Canvas, box: Box, panel: Panel, seen: Seen) -> None:
    canvas.rectangle(box, PAPER, edge=EDGE)
    title = canvas.fitted(panel.title, box.width - 20, 13, "bold")
    canvas.text(box.x + 10, box.y + 16, title, px=13, weight="bold")
    inner = box.inside(0, TITLE, 0, 6)
    answers = seen.answers[panel.key]
    found = lines(panel, answers)
    broken = any(answer.error for answer in answers)
    if broken or not found:
        _nothing(canvas, inner, panel, answers)
    elif panel.kind == "table":
        draw_table(canvas, inner, panel, answers)
    else:
        PAINTERS[panel.kind](canvas, inner, panel, found, seen.span, seen.step_s)


def _nothing(canvas: Canvas, box: Box, panel: Panel, answers: Sequence[Answer]) -> None:
    words, color = nothing(panel, answers)
    told = wrap(words, max(20, int(box.width / 8)))[:4]
    for index, line in enumerate(told):
        y = box.y + box.height / 2 + (index - (len(told) - 1) / 2) * 18
        canvas.text(box.x + box.width / 2, y, line, px=13, color=color, side="center")
