"""Moments of a load run, marked in a Grafana where one is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana

from deploy.load_marking import mark_of, marked_load
from loadgen.moments import Moment
from serving.errors import UsageError

BEGIN = Moment("begin", "load chat begins", 10.0)
STAGE = Moment("stage", "stage 1 of 2", 11.0)
END = Moment("end", "load chat ended", 10.0, 70.0)


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


def test_a_moment_becomes_a_mark_of_its_kind() -> None:
    assert mark_of(STAGE, "demo").tags == ("teapot", "deployment:demo", "kind:stage")
    assert mark_of(END, None).tags == ("teapot", "kind:load")
    assert (mark_of(END, None).at_s, mark_of(END, None).until_s) == (10.0, 70.0)


def test_begin_stages_and_end_get_there_in_their_order(fake: FakeGrafana, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(EDITOR)
    with marked_load(fake.url, tmp_path / "token", "demo", pytest.fail, {}) as told:
        for moment in (BEGIN, STAGE, END):
            told(moment)
    assert [one["text"] for one in fake.annotations] == [BEGIN.text, STAGE.text, END.text]
    assert fake.annotations[2]["timeEnd"] == 70_000


def test_the_environment_will_do(fake: FakeGrafana) -> None:
    with marked_load(
        None, None, None, pytest.fail, {"GRAFANA_URL": fake.url, "GRAFANA_TOKEN": EDITOR}
    ) as told:
        told(BEGIN)
    assert [one["tags"] for one in fake.annotations] == [["teapot", "kind:load"]]


@pytest.mark.parametrize("environ", [{}, {"GRAFANA_URL": "http://127.0.0.1:1"}, {"GRAFANA_TOKEN": EDITOR}])
def test_without_both_of_them_nothing_is_marked_and_nothing_said(environ: dict[str, str]) -> None:
    with marked_load(None, None, None, pytest.fail, environ) as told:
        told(BEGIN)


def test_a_grafana_that_was_asked_for_needs_a_token_before_the_load() -> None:
    with (
        pytest.raises(UsageError, match="GRAFANA_TOKEN"),
        marked_load("http://h", None, None, pytest.fail, {}),
    ):
        pytest.fail("the load was run")
