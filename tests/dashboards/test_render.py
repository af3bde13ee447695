"""Boards as Grafana reads them."""

from __future__ import annotations

import json
from typing import Any

from dashboards.panels import Board, Panel, Query, Row, Variable
from dashboards.render import board_json, board_text

PANEL = Panel(key="k", title="t", unit="count", queries=(Query(expr="a"),), help="h")
VARIABLES = (
    Variable(name="deployment", title="Deployment", query="label_values(up, deployment)"),
    Variable(name="revision", title="Revision", query="label_values(up, revision)", many=True),
    Variable(name="canary", title="Canary", query="label_values(up, revision)", last_first=True),
    Variable(name="price", title="Price", default="0"),
)
BOARD = Board(
    uid="teapot-x", title="X", help="why", rows=(Row("r", (PANEL,)),), variables=VARIABLES,
    marks=("deployment:$deployment",), span="15m",
)  # fmt: skip
OTHER = Board(uid="teapot-y", title="Y", help="", rows=(), variables=())


def variable(name: str) -> dict[str, Any]:
    listed = board_json(BOARD, (BOARD,))["templating"]["list"]
    return next(one for one in listed if one["name"] == name)


def test_a_board_keeps_its_uid_is_marked_as_ours_and_moves_with_time() -> None:
    made = board_json(BOARD, (BOARD, OTHER))
    assert (made["uid"], made["tags"], made["schemaVersion"]) == ("teapot-x", ["teapot"], 39)
    assert made["time"] == {"from": "now-15m", "to": "now"}


def test_a_board_links_to_the_others_with_its_choices_and_its_time() -> None:
    links = board_json(BOARD, (BOARD, OTHER))["links"]
    assert [(link["url"], link["keepTime"], link["includeVars"]) for link in links] == [
        ("/d/teapot-y", True, True)
    ]


def test_all_of_a_choice_also_matches_series_without_the_label() -> None:
    assert variable("revision")["allValue"] == ".*"
    assert variable("revision")["current"]["value"] == ["$__all"]
    assert not variable("deployment")["includeAll"]


def test_the_last_by_name_is_chosen_first_by_sorting_downwards() -> None:
    assert (variable("canary")["sort"], variable("deployment")["sort"]) == (2, 1)


def test_a_text_box_begins_with_its_default() -> None:
    box = variable("price")
    assert (box["type"], box["query"], box["current"]["value"]) == ("textbox", "0", "0")


def test_the_data_source_is_chosen_by_who_looks() -> None:
    assert variable("datasource")["type"] == "datasource"


def test_what_changed_is_marked_on_every_graph() -> None:
    marks = board_json(BOARD, (BOARD,))["annotations"]["list"]
    assert marks[1]["target"]["tags"] == ["teapot", "deployment:$deployment"]
    assert marks[1]["enable"]


def test_a_heading_is_a_row_and_panels_lie_below_it() -> None:
    row, panel = board_json(BOARD, (BOARD,))["panels"]
    assert (row["type"], row["title"], row["gridPos"]) == ("row", "r", {"x": 0, "y": 0, "w": 24, "h": 1})
    assert (panel["id"], panel["gridPos"]) == (2, {"x": 0, "y": 1, "w": 8, "h": 8})


def test_the_text_is_json_with_a_last_line_end() -> None:
    text = board_text(BOARD, (BOARD,))
    assert text.endswith("}\n")
    assert json.loads(text)["uid"] == "teapot-x"
