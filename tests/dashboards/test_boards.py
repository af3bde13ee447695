"""All boards together: what every board owes its reader, and every query to Prometheus' own parser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.promtool import check_rules, needs_promtool

from dashboards.boards import BOARDS
from dashboards.panels import Board, Panel
from dashboards.promql import substitute

VALUES = {
    "__rate_interval": "1m", "__range": "1h", "__range_s": "3600", "deployment": "d", "baseline": "v1",
    "canary": "v2", "enough": "93", "devices": "0", "price": "0",
    **dict.fromkeys(("revision", "role", "instance", "model", "run", "arm"), ".*"),
}  # fmt: skip
EACH = [pytest.param(panel, id=f"{board.uid}-{panel.key}") for board in BOARDS for panel in board.panels()]


def test_the_boards_come_in_the_order_in_which_an_operator_asks() -> None:
    titles = [board.title for board in BOARDS]
    assert titles == ["Overview", "Engine", "Levers", "Load test", "Study", "Rollout", "Cost"]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_a_panel_has_one_key_in_its_board(board: Board) -> None:
    keys = [panel.key for panel in board.panels()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("panel", EACH)
def test_a_panel_says_what_it_means_and_what_to_do(panel: Panel) -> None:
    meaning, _, to_do = panel.help.partition("Do: ")
    assert to_do.endswith(".")
    assert len(panel.help) < 320, "nobody reads more than that in a hover"
    assert meaning or panel.title


@pytest.mark.parametrize("panel", EACH)
def test_a_graph_begins_at_0_so_that_small_changes_look_small(panel: Panel) -> None:
    if panel.kind == "timeseries":
        assert panel.logarithmic or panel.lowest == 0


@needs_promtool
def test_every_query_is_promql(tmp_path: Path) -> None:
    queries = [query for board in BOARDS for panel in board.panels() for query in panel.queries]
    rules = [
        {"record": f"query:{number}", "expr": substitute(query.expr, VALUES)}
        for number, query in enumerate(queries)
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(json.dumps({"groups": [{"name": "boards", "rules": rules}]}))
    check_rules(file)


def test_the_docs_list_every_board_in_its_order() -> None:
    page = Path(__file__).parents[2] / "docs" / "dashboards.md"
    listed = [
        line.split("|")[1:3] for line in page.read_text(encoding="utf-8").splitlines() if "| `teapot-" in line
    ]
    assert [(title.strip(), uid.strip(" `")) for title, uid in listed] == [
        (board.title, board.uid) for board in BOARDS
    ]
