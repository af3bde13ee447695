"""What is asked of a Grafana, and which Grafana will do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana

from dashboards.grafana import Grafana, GrafanaFailed

BOARD = {"uid": "a", "title": "A", "tags": None, "schemaVersion": 39}


@pytest.fixture(params=("11.6.0", "12.1.0", "13.0.1"))
def fake(request: pytest.FixtureRequest) -> Iterator[FakeGrafana]:
    with grafana(request.param) as running:
        yield running


@pytest.fixture
def client(fake: FakeGrafana) -> Iterator[Grafana]:
    made = Grafana(fake.url + "/", EDITOR, environ={})
    yield made
    made.close()


def test_its_version_is_told(fake: FakeGrafana, client: Grafana) -> None:
    assert client.version() == fake.version


def test_a_version_with_more_behind_it_is_read(fake: FakeGrafana, client: Grafana) -> None:
    fake.version = "13.0.1+security-01"
    assert client.version() == "13.0.1+security-01"


def test_an_old_one_is_refused(fake: FakeGrafana, client: Grafana) -> None:
    fake.version = "10.4.19"
    with pytest.raises(GrafanaFailed, match=r"Grafana 10\.4\.19, and the boards need 11 or newer; update it"):
        client.version()


def test_one_that_hides_its_version_will_do(fake: FakeGrafana, client: Grafana) -> None:
    fake.answers["/api/health"] = (200, {"database": "ok"})
    assert client.version() == ""


@pytest.mark.parametrize(
    "answer",
    [
        (404, {"error": {"message": "no such path", "code": None}}),
        (404, b"<html>no message here</html>"),
        (200, b"<html>Welcome</html>"),
        (200, {"status": "UP"}),
        (204, b""),
    ],
)
def test_what_is_no_grafana_is_told(fake: FakeGrafana, client: Grafana, answer: object) -> None:
    fake.answers["/api/health"] = answer
    with pytest.raises(GrafanaFailed, match=r"does not answer like Grafana: .*; give Grafana's own address"):
        client.version()


def test_a_board_is_told_with_its_version_and_where_it_lies(fake: FakeGrafana, client: Grafana) -> None:
    fake.put(BOARD, folder="f", message="first")
    fake.put({**BOARD, "title": "B"}, folder="f", message="second")
    found = client.board("a")
    assert found is not None
    assert (found.version, found.folder_uid, found.provisioned, found.tags) == (2, "f", False, ())
    assert found.board["title"] == "B"
    assert client.message("a", 2) == "second"
    assert client.message("a", 1) == ""


@pytest.mark.slow
def test_what_is_not_there_is_none(client: Grafana) -> None:
    assert client.board("no/such") is None
    assert client.folder("no such") is None
    assert client.source_name("none") is None


@pytest.mark.parametrize("answer", [{}, {"dashboard": {}, "meta": 3}, [1], {"dashboard": None, "meta": {}}])
def test_an_answer_of_another_shape_is_told(fake: FakeGrafana, client: Grafana, answer: object) -> None:
    fake.answers["/api/dashboards/uid/a"] = (200, answer)
    with pytest.raises(GrafanaFailed, match="an answer of another shape"):
        client.board("a")


def test_a_history_that_may_not_be_read_tells_nothing(fake: FakeGrafana, client: Grafana) -> None:
    fake.answers["/api/dashboards/uid/a/versions"] = (403, {"message": "no"})
    assert client.message("a", 1) == ""


def test_an_annotation_holds_its_text_its_tags_and_its_time(fake: FakeGrafana, client: Grafana) -> None:
    client.annotate("up", ("teapot", "kind:serve"), at_ms=1_700_000_000_000)
    client.annotate("load", ("teapot",), at_ms=1, until_ms=2)
    moment, time = fake.annotations
    assert (moment["text"], moment["tags"], moment["time"]) == (
        "up",
        ["teapot", "kind:serve"],
        1_700_000_000_000,
    )
    assert moment["timeEnd"] is None
    assert (time["time"], time["timeEnd"]) == (1, 2)
