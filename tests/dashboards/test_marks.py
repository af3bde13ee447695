from __future__ import annotations

from dashboards.boards import BOARDS
from dashboards.marks import Kind, Mark


def test_tags_name_the_deployment_the_revisions_and_the_kind() -> None:
    mark = Mark(Kind.WEIGHTS, "x", 1.0, deployment="demo", revisions=("v1", "v2"))
    assert mark.tags == ("teapot", "deployment:demo", "revision:v1", "revision:v2", "kind:weights")


def test_what_belongs_to_no_deployment_has_no_tag_of_one() -> None:
    assert Mark(Kind.STAGE, "x", 1.0).tags == ("teapot", "kind:stage")


def test_a_board_that_asks_for_a_deployment_finds_its_marks() -> None:
    asked = {mark.replace("$deployment", "demo") for board in BOARDS for mark in board.marks}
    assert asked
    assert asked <= set(Mark(Kind.SERVE, "x", 1.0, deployment="demo").tags)
