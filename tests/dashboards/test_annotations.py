"""Marks to a Grafana that may be down, slow, or refuse: nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from fakes.fake_grafana import EDITOR, VIEWER, FakeGrafana, grafana

from dashboards.annotations import Annotations, to_grafana
from dashboards.marks import Kind, Mark
from serving.errors import Failed

LONG_S = 20.0
"""Nothing here takes as long, on any machine."""


@pytest.fixture(params=("11.6.0", "12.1.0", "13.0.1"))
def fake(request: pytest.FixtureRequest) -> Iterator[FakeGrafana]:
    with grafana(request.param) as running:
        yield running


def mark(text: str = "x") -> Mark:
    return Mark(Kind.SERVE, text, 1_700_000_000.25, deployment="demo")


def test_a_mark_gets_to_grafana_with_its_tags_and_its_time(fake: FakeGrafana) -> None:
    said: list[str] = []
    annotations = Annotations(to_grafana(fake.url, EDITOR), said.append)
    annotations.note(mark("up"))
    annotations.note(Mark(Kind.LOAD, "load", 1.0, 2.5))
    annotations.close(LONG_S)
    up, load = fake.annotations
    assert (up["text"], up["time"], up["timeEnd"]) == ("up", 1_700_000_000_250, None)
    assert up["tags"] == ["teapot", "deployment:demo", "kind:serve"]
    assert (load["time"], load["timeEnd"], load["tags"]) == (1000, 2500, ["teapot", "kind:load"])
    assert (annotations.sent, annotations.dropped, said) == (2, 0, [])


def test_an_empty_answer_will_do(fake: FakeGrafana) -> None:
    fake.answers["/api/annotations"] = (204, b"")
    annotations = Annotations(to_grafana(fake.url, EDITOR), pytest.fail)
    annotations.note(mark())
    annotations.close(LONG_S)
    assert annotations.sent == 1


@pytest.mark.parametrize(
    ("token", "why"), [("glsa_wrong", "does not know this token"), (VIEWER, "role Editor")]
)
def test_a_grafana_that_refuses_is_said_once(fake: FakeGrafana, token: str, why: str) -> None:
    said: list[str] = []
    annotations = Annotations(to_grafana(fake.url, token), said.append)
    for _ in range(3):
        annotations.note(mark())
    annotations.close(LONG_S)
    assert (annotations.sent, annotations.dropped) == (0, 3)
    assert len(said) == 2
    assert why in said[0]
    assert token not in said[0]
    assert said[1] == "3 of 3 annotations did not get to Grafana"


def test_a_grafana_that_hangs_holds_up_nobody(fake: FakeGrafana) -> None:
    fake.hold = threading.Event()
    said: list[str] = []
    annotations = Annotations(to_grafana(fake.url, EDITOR), said.append, most_waiting=2)
    for _ in range(10):
        annotations.note(mark())  # returns although nothing is answered
    annotations.close(0.01)
    assert fake.annotations == []
    assert annotations.dropped == 10
    assert said == ["10 of 10 annotations did not get to Grafana"]


def test_what_is_beyond_the_queue_is_counted_and_the_rest_arrives() -> None:
    begun, go = threading.Event(), threading.Event()
    got: list[str] = []

    def send(one: Mark) -> None:
        begun.set()
        assert go.wait(LONG_S)
        got.append(one.text)

    annotations = Annotations(send, lambda _: None, most_waiting=2)
    annotations.note(mark("a"))
    assert begun.wait(LONG_S)
    for text in "bcde":
        annotations.note(mark(text))
    go.set()
    annotations.close(LONG_S)
    assert got == ["a", "b", "c"]
    assert (annotations.sent, annotations.dropped) == (3, 2)


def test_a_grafana_that_is_back_is_said() -> None:
    said: list[str] = []
    wrong = iter([Failed("down"), Failed("still down"), None])

    def send(_: Mark) -> None:
        if (error := next(wrong)) is not None:
            raise error

    annotations = Annotations(send, said.append)
    for _ in range(3):
        annotations.note(mark())
    annotations.close(LONG_S)
    assert [line.partition(":")[0] for line in said] == [
        "nothing is marked in Grafana until it takes it, and all else goes on",
        "Grafana takes annotations again (2 were lost)",
        "2 of 3 annotations did not get to Grafana",
    ]


def test_a_fault_of_ours_ends_neither_the_thread_nor_the_program() -> None:
    said: list[str] = []
    wrong = iter([KeyError("x"), None])

    def send(_: Mark) -> None:
        if (error := next(wrong)) is not None:
            raise error

    annotations = Annotations(send, said.append)
    annotations.note(mark())
    annotations.note(mark())
    annotations.close(LONG_S)
    assert annotations.sent == 1
    assert "KeyError" in said[0]


def test_without_a_mark_there_is_no_thread_and_after_the_end_none_is_taken() -> None:
    before = threading.active_count()
    annotations = Annotations(lambda _: None, pytest.fail)
    annotations.close(LONG_S)
    assert threading.active_count() == before
    annotations.note(mark())
    assert annotations.dropped == 1
