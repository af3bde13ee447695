"""Boards asked of a scripted Prometheus and drawn into files."""

from __future__ import annotations

import pytest
from fakes.prometheus_api import Script, matrix, serving

from dashboards.panels import Board, Panel, Query, Row, Variable
from dashboards.preview.making import PAGE, preview
from dashboards.query import Prometheus
from dashboards.steps import Span


def board(uid: str, *panels: Panel) -> Board:
    deployment = Variable(name="deployment", title="Deployment", query="label_values(up, deployment)")
    return Board(uid=uid, title=uid.title(), help="h", rows=(Row("R", panels),), variables=(deployment,))


def panel(key: str, expr: str) -> Panel:
    return Panel(key=key, title=key, unit="seconds", queries=(Query(expr=expr),), help="h")


@pytest.mark.slow
def test_each_board_becomes_a_picture_and_all_of_them_a_page():
    asked = 'ttft{d="demo"}'
    script = Script(
        {asked: matrix(({}, [(1000, "0.25"), (1005, "0.5")])), "/api/v1/label/deployment/values": ["demo"]}
    )
    boards = [board("one", panel("TTFT", 'ttft{d="$deployment"}')), board("two", panel("Gone", "gone"))]
    with serving(script) as url:
        made = preview(Prometheus(url), boards, Span(1000.0, 1300.0, 5.0), {})
    assert set(made.files) == {"one.png", "two.png", PAGE}
    assert all(made.files[name].startswith(b"\x89PNG") for name in ("one.png", "two.png"))
    page = made.files[PAGE].decode()
    assert page.count("<svg") == 2
    assert "400 ms" in page
    assert "No data" in page
    assert url in page
