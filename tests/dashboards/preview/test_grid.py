from __future__ import annotations

from itertools import pairwise

from dashboards.panels import Board, Panel, Row
from dashboards.preview.grid import HEADER, MARGIN, WIDTH, boxes, height


def panel(key: str, width: int, tall: int = 8) -> Panel:
    return Panel(key=key, title=key, unit="count", queries=(), help="h", width=width, height=tall)


def board(*rows: Row) -> Board:
    return Board(uid="u", title="B", help="h", rows=rows, variables=())


def test_three_thirds_fill_the_page_from_margin_to_margin():
    drawn = [box for _, box in boxes(board(Row("R", tuple(panel(k, 8) for k in "abc"))))][1:]
    assert drawn[0].x == MARGIN
    assert round(drawn[-1].right, 6) == WIDTH - MARGIN
    assert [round(b.x - a.right, 6) for a, b in pairwise(drawn)] == [8, 8]


def test_rows_follow_each_other_under_the_header():
    heading, tile, second, graph = (
        box for _, box in boxes(board(Row("R", (panel("a", 24, 4),)), Row("S", (panel("b", 24),))))
    )
    assert heading.y == HEADER
    assert (heading.height, tile.height, graph.height) == (30, 4 * 38 - 8, 8 * 38 - 8)
    assert (tile.y - heading.bottom, second.y - tile.bottom) == (8, 8)


def test_a_page_ends_below_its_last_panel():
    made = board(Row("R", (panel("a", 12, 4), panel("b", 12, 8))))
    assert height(made) == HEADER + 38 + 8 * 38 - 8 + MARGIN
    assert height(board()) == HEADER + MARGIN
