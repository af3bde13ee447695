"""What panels and boards know of themselves."""

from __future__ import annotations

from dashboards.panels import Board, Panel, Query, Row, ref


def panel(*queries: Query) -> Panel:
    return Panel(key="k", title="t", unit="count", queries=queries, help="")


def test_one_series_needs_no_legend_and_several_do() -> None:
    assert not panel(Query(expr="a", legend="requests")).has_legend
    assert panel(Query(expr="a", legend="{{slo}}")).has_legend
    assert panel(Query(expr="a"), Query(expr="b")).has_legend


def test_queries_are_called_by_letters() -> None:
    assert [ref(0), ref(5)] == ["A", "F"]


def test_a_board_knows_which_variables_its_queries_use() -> None:
    rows = (Row("r", (panel(Query(expr='a{b="$deployment"}'), Query(expr="rate(c[$__rate_interval])")),)),)
    board = Board(uid="x", title="x", help="", rows=rows, variables=())
    assert board.used() == {"deployment", "__rate_interval"}
