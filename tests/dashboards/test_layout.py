"""Where panels come to lie."""

from __future__ import annotations

from dashboards.layout import places
from dashboards.panels import Board, Panel, Row


def panel(key: str, width: int, height: int) -> Panel:
    return Panel(key=key, title=key, unit="count", queries=(), help="", width=width, height=height)


def test_panels_fill_lines_of_24_columns_below_their_heading() -> None:
    rows = (
        Row("first", (panel("a", 12, 4), panel("b", 12, 8), panel("c", 8, 4))),
        Row("second", (panel("d", 24, 6),)),
    )
    board = Board(uid="x", title="x", help="", rows=rows, variables=())
    placed = [(p.what.title, p.x, p.y, p.width, p.height) for p in places(board)]
    assert placed == [
        ("first", 0, 0, 24, 1),
        ("a", 0, 1, 12, 4),
        ("b", 12, 1, 12, 8),
        ("c", 0, 9, 8, 4),
        ("second", 0, 13, 24, 1),
        ("d", 0, 14, 24, 6),
    ]
