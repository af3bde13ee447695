"""Boards asked of a Prometheus and drawn: a picture for each, and the page.

Owns: the order, and that matplotlib is there. Asks Prometheus, so it is no pure room. Knows nothing about
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dashboards.answers import POINTS, Values, answer, chosen
from dashboards.panels import Board
from dashboards.preview.clock import at_utc
from dashboards.preview.page import page
from dashboards.query import Prometheus
from dashboards.steps import Span
from serving.errors import Failed

PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class Preview:
    """The files of a preview by their names."""

    files: dict[str, bytes]


def preview(
    prometheus: Prometheus,
    boards: Iterable[Board],
    span: Span,
    given: Values,
    progress: Callable[[str], None] = lambda _: None,
) -> Preview:
    """Ask and draw. Raises: Failed where Prometheus or matplotlib is not there; UsageError."""
    try:
        from dashboards.preview.board import NOTE, Seen, draw_board
    except ModuleNotFoundError as error:
        raise Failed(
            f"the preview is drawn with {error.name}, which is not installed",
            fix="run `make setup-dev` in this repository, or install teapot with its extra 'preview'",
        ) from error
    asked = tuple(boards)
    pictures: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for board in asked:
        progress(board.title)
        values = chosen(prometheus, board, span, given)
        answers = {panel.key: answer(prometheus, panel, values, span) for panel in board.panels()}
        drawn = draw_board(board, Seen(prometheus.url, span, span.step_s(POINTS), values, answers))
        pictures[board.uid] = drawn.svg(board.uid)
        files[f"{board.uid}.png"] = drawn.png()
    when = f"{at_utc(span.start_s)} to {at_utc(span.end_s)} UTC"
    files[PAGE] = page(asked, pictures, NOTE, when, prometheus.url).encode()
    return Preview(files)
