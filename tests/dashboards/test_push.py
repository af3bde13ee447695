"""Boards into a Grafana, over HTTP, against the shapes of three versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fakes.fake_grafana import EDITOR, VIEWER, FakeGrafana, grafana

from dashboards.grafana import Grafana, GrafanaFailed
from dashboards.push import Result, push
from serving.errors import Failed, UsageError

VERSIONS = ("11.4.0", "11.6.0", "12.1.0", "13.0.1")


@pytest.fixture(params=VERSIONS)
def fake(request: pytest.FixtureRequest) -> Iterator[FakeGrafana]:
    with grafana(request.param) as running:
        yield running


@pytest.fixture
def one() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


def board(uid: str = "teapot-a", **keys: Any) -> dict[str, Any]:
    source = {"type": "datasource", "name": "datasource", "current": {}}
    variables = {"list": [source, {"type": "query", "name": "deployment", "current": {}}]}
    plain = {"uid": uid, "title": f"teapot: {uid}", "tags": ["teapot"], "schemaVersion": 39}
    return plain | {"templating": variables, "panels": []} | keys


def pushed(fake: FakeGrafana, *boards: dict[str, Any], token: str = EDITOR, **options: Any) -> Result:
    client = Grafana(fake.url, token, environ={})
    try:
        return push(client, boards or (board("teapot-a"), board("teapot-b")), **options)
    finally:
        client.close()


def did(result: Result) -> list[str]:
    return [one.did for one in result.boards]


def test_the_first_push_makes_the_folder_and_every_board_in_it(fake: FakeGrafana) -> None:
    result = pushed(fake)
    assert (result.version, result.folder, result.folder_created) == (fake.version, "teapot", True)
    assert did(result) == ["created", "created"]
    assert fake.folders == {"teapot": "teapot"}
    assert {uid: kept["folder"] for uid, kept in fake.boards.items()} == dict.fromkeys(
        ("teapot-a", "teapot-b"), "teapot"
    )
    assert fake.saved("teapot-b") == board("teapot-b")


def test_a_second_push_changes_nothing_and_says_so(fake: FakeGrafana) -> None:
    pushed(fake)
    before = len(fake.writes())
    result = pushed(fake)
    assert did(result) == ["unchanged", "unchanged"]
    assert not result.folder_created
    assert len(fake.writes()) == before


def test_a_newer_board_replaces_ours_without_a_word(fake: FakeGrafana) -> None:
    pushed(fake, board(title="teapot: before"))
    (result,) = pushed(fake, board(title="teapot: after")).boards
    assert (result.did, result.note) == ("updated", "")
    assert [kept["board"]["title"] for kept in fake.boards["teapot-a"]["versions"]] == [
        "teapot: before", "teapot: after",
    ]  # fmt: skip


def test_what_was_changed_by_hand_in_ours_is_replaced_and_told(fake: FakeGrafana) -> None:
    pushed(fake, board())
    fake.put(board(title="by hand"), folder="teapot", message="bigger")
    (result,) = pushed(fake, board()).boards
    assert result.did == "updated"
    assert "changed in Grafana; that is version 2" in result.note


def test_a_board_that_was_moved_comes_back_to_its_folder(one: FakeGrafana) -> None:
    pushed(one, board())
    one.folders["other"] = "Other"
    one.boards["teapot-a"]["folder"] = "other"
    assert did(pushed(one, board())) == ["updated"]
    assert one.boards["teapot-a"]["folder"] == "teapot"


def test_a_board_of_somebody_else_is_not_replaced_and_then_nothing_is_written(fake: FakeGrafana) -> None:
    fake.put(board("teapot-b", title="Mine", tags=["team-x"]))
    with pytest.raises(Failed, match=r"/d/teapot-b: .*'Mine' \(no tag 'teapot'\); .*--force"):
        pushed(fake)
    assert fake.writes() == []


def test_a_board_of_somebody_else_is_replaced_with_force_and_that_is_told(fake: FakeGrafana) -> None:
    fake.put(board("teapot-b", title="Mine", tags=None))
    result = pushed(fake, force=True)
    assert did(result) == ["created", "updated"]
    assert "'Mine' was not teapot's; it is version 1" in result.boards[1].note
    assert fake.saved("teapot-b")["title"] == "teapot: teapot-b"


@pytest.mark.slow
def test_a_board_that_somebody_saves_meanwhile_is_looked_at_again(fake: FakeGrafana) -> None:
    pushed(fake, board(title="old"))
    fake.before_save = lambda it: it.put(board(title="quicker"), folder="teapot")
    assert did(pushed(fake, board(title="new"))) == ["updated"]
    assert fake.saved("teapot-a")["title"] == "new"
    assert len(fake.boards["teapot-a"]["versions"]) == 3


def test_a_board_that_somebody_makes_meanwhile_is_not_replaced(fake: FakeGrafana) -> None:
    fake.before_save = lambda it: it.put(board(title="theirs", tags=[]), folder="teapot")
    with pytest.raises(Failed, match="not teapot's"):
        pushed(fake, board())
    assert fake.saved("teapot-a")["title"] == "theirs"


def test_a_board_that_is_saved_again_and_again_is_given_up(one: FakeGrafana) -> None:
    def again(it: FakeGrafana) -> None:
        it.put(board(title="theirs"), folder="teapot")
        it.before_save = again

    one.before_save = again
    with pytest.raises(GrafanaFailed, match="changed by someone else") as failed:
        pushed(one, board())
    assert failed.value.status == 412
    assert len(one.boards["teapot-a"]["versions"]) == 3


def test_a_board_that_was_saved_in_the_v2_form_is_told(one: FakeGrafana) -> None:
    # As pkg/api/dashboard.go of Grafana 12 and 13 says it.
    told = "dashboard api version not supported, use /apis/dashboard.grafana.app/v2/... instead"
    one.answers["/api/dashboards/uid/teapot-a"] = (406, {"message": told})
    with pytest.raises(GrafanaFailed, match=r"in its v2 form.*; delete it there, and push again"):
        pushed(one, board())
    assert one.writes() == []


def test_a_provisioned_board_is_told_apart(one: FakeGrafana) -> None:
    one.put(board(title="from a file"), provisioned=True)
    with pytest.raises(Failed, match="from a file and refuses"):
        pushed(one, board())


@pytest.mark.parametrize("name", ["p1", "Production"])
def test_a_folder_is_found_by_its_title_and_by_its_uid(one: FakeGrafana, name: str) -> None:
    one.folders["p1"] = "Production"
    result = pushed(one, board(), folder=name)
    assert (result.folder, result.folder_created) == ("Production", False)
    assert one.boards["teapot-a"]["folder"] == "p1"


def test_a_folder_of_another_name_is_made_once(one: FakeGrafana) -> None:
    assert pushed(one, board(), folder="Größe / Größe").folder_created
    assert not pushed(one, board(), folder="Größe / Größe").folder_created
    (uid,) = one.folders
    assert uid.isascii()
    assert len(uid) <= 40


def test_two_folders_of_one_name_have_to_be_told_apart(one: FakeGrafana) -> None:
    one.folders |= {"p1": "Production", "p2": "Production"}
    with pytest.raises(UsageError, match="2 folders are named 'Production'; give one's uid: p1, p2"):
        pushed(one, board(), folder="Production")


def test_our_folder_may_have_been_renamed(one: FakeGrafana) -> None:
    one.folders["teapot"] = "Serving"
    assert pushed(one, board()).folder == "Serving"


def test_our_folder_may_lie_in_another_one(one: FakeGrafana) -> None:
    one.folders["teapot"] = "teapot"
    one.nested.add("teapot")
    assert not pushed(one, board()).folder_created
    assert one.boards["teapot-a"]["folder"] == "teapot"


def test_a_folder_of_our_name_with_another_uid_is_said(one: FakeGrafana) -> None:
    one.folders["abc"] = "teapot"
    with pytest.raises(Failed, match=r"has a folder 'teapot' with another uid; .*--folder 'teapot'"):
        pushed(one, board())


def test_the_data_source_is_chosen_by_uid(one: FakeGrafana) -> None:
    one.sources["prom1"] = "Main"
    pushed(one, board(), source_uid="prom1")
    source, other = one.saved("teapot-a")["templating"]["list"]
    assert source["current"] == {"selected": True, "text": "Main", "value": "prom1"}
    assert other["current"] == {}


def test_a_data_source_that_is_not_there_is_said_before_anything_is_written(one: FakeGrafana) -> None:
    with pytest.raises(Failed, match="no data source with the uid 'prom1'"):
        pushed(one, board(), source_uid="prom1")
    assert one.writes() == []


def test_a_data_source_that_may_not_be_looked_at_is_taken_as_it_is(one: FakeGrafana) -> None:
    one.answers["/api/datasources/uid/prom1"] = (403, {"message": "no"})
    pushed(one, board(), source_uid="prom1")
    assert one.saved("teapot-a")["templating"]["list"][0]["current"]["text"] == "prom1"


def test_a_token_that_may_only_look_is_told_what_it_lacks(fake: FakeGrafana) -> None:
    with pytest.raises(
        GrafanaFailed, match=r"additional permissions.*; give its service account the role Editor"
    ):
        pushed(fake, token=VIEWER)
    assert fake.folders == {}
