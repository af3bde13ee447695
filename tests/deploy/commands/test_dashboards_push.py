"""`teapot dashboards push`, against a Grafana over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana

from dashboards.build import HERE
from deploy.cli import main

UIDS = {
    "teapot-overview",
    "teapot-engine",
    "teapot-levers",
    "teapot-load-test",
    "teapot-rollout",
    "teapot-cost",
    "teapot-study",
}


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


@pytest.fixture
def words(fake: FakeGrafana, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("GRAFANA_TOKEN", EDITOR)
    return ["dashboards", "push", "--grafana", fake.url]


def test_the_boards_that_lie_in_the_tree_are_pushed(
    fake: FakeGrafana, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert fake.boards.keys() == UIDS
    for uid in UIDS:
        assert fake.saved(uid) == json.loads((HERE / "generated" / "boards" / f"{uid}.json").read_text())
    told = capsys.readouterr().out
    assert f"created    {fake.url}/d/teapot-overview  teapot: Overview" in told
    assert "7 of 7 boards changed in folder 'teapot' of Grafana 12.1.0" in told


@pytest.mark.slow
def test_a_second_time_there_is_nothing_to_do(
    fake: FakeGrafana, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    capsys.readouterr()
    assert main(words) == 0
    assert "nothing to change in folder 'teapot' of Grafana 12.1.0" in capsys.readouterr().out


def test_json_is_one_document(
    fake: FakeGrafana, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder_created"] is True
    assert {board["uid"]: board["did"] for board in told["boards"]} == dict.fromkeys(UIDS, "created")


def test_a_board_of_somebody_else_is_exit_1_and_replaced_with_force(
    fake: FakeGrafana, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    fake.put({"uid": "teapot-cost", "title": "Money", "tags": []})
    assert main(words) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert "'Money' was not teapot's" in capsys.readouterr().err


@pytest.mark.slow
def test_a_token_comes_from_a_file_and_folder_and_source_are_chosen(
    fake: FakeGrafana, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAFANA_TOKEN", raising=False)
    (tmp_path / "token").write_text(EDITOR)
    fake.sources["p1"] = "Prometheus"
    options = ["--token-file", str(tmp_path / "token"), "--folder", "ops", "--datasource-uid", "p1"]
    assert main(["dashboards", "push", "--grafana", fake.url, *options]) == 0
    assert fake.folders == {"teapot-ops": "ops"}
    chosen = fake.saved("teapot-engine")["templating"]["list"][0]
    assert chosen["current"]["value"] == "p1"


def test_without_a_token_nothing_is_asked(
    fake: FakeGrafana, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GRAFANA_TOKEN", raising=False)
    assert main(["dashboards", "push", "--grafana", fake.url]) == 2
    assert "GRAFANA_TOKEN: there is no token" in capsys.readouterr().err
    assert fake.asked == []


def test_a_wrong_address_is_told_before_a_token_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GRAFANA_TOKEN", raising=False)

    assert main(["dashboards", "push", "--grafana", "nonsense"]) == 2

    assert "is not the address of a Grafana" in capsys.readouterr().err
