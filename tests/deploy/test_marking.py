"""What is marked while a deployment serves, and when there is nothing to mark it in."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.fake_grafana import EDITOR, grafana

from dashboards.marks import Mark
from deploy.marking import Marking, marking
from serving.config.schema import Deployment, GrafanaSection
from serving.engine.states import EngineState
from serving.gateway.backends import Backend
from serving.gateway.state import GatewayState


def state(*revisions: str) -> GatewayState:
    made = GatewayState("demo")
    for number, revision in enumerate(revisions):
        made.backends.add(Backend(f"http://e{number}", revision=revision, state="ready"))
    return made


def recorded() -> tuple[Marking, list[Mark]]:
    marks: list[Mark] = []
    return Marking("demo", marks.append, clock=lambda: 12.5), marks


def test_start_ready_and_stop_are_marked_for_the_deployment_and_its_revisions() -> None:
    marking, marks = recorded()
    gateway = state("v1", "v2")
    marking.starting("vLLM 0.32.0 on cpu with tiny")
    marking.ready(gateway)
    marking.stopping(gateway)
    assert [mark.text for mark in marks] == [
        "demo starts: vLLM 0.32.0 on cpu with tiny",
        "demo is ready: v1 50 %, v2 50 %",
        "demo stops",
    ]
    assert marks[1].tags == ("teapot", "deployment:demo", "revision:v1", "revision:v2", "kind:serve")
    assert {mark.at_s for mark in marks} == {12.5}


def test_one_that_never_began_is_not_said_to_stop() -> None:
    marking, marks = recorded()
    marking.stopping(state())
    assert marks == []


def test_one_that_never_became_ready_did_not_come_up() -> None:
    marking, marks = recorded()
    marking.starting("x")
    marking.stopping(state("v1"))
    assert marks[-1].text == "demo did not come up"


def test_other_weights_are_marked_and_the_same_ones_are_not() -> None:
    marking, marks = recorded()
    gateway = state("v1", "v2")
    marking.ready(gateway)
    gateway.set_weights({"v1": 95, "v2": 5})
    gateway.set_weights({"v1": 19, "v2": 1})
    with pytest.raises(ValueError, match="no revision"):
        gateway.set_weights({"v3": 1})
    (step,) = marks[1:]
    assert step.text == "weights: v1 95 %, v2 5 %"
    assert step.tags == ("teapot", "deployment:demo", "revision:v1", "revision:v2", "kind:weights")


def test_failures_of_engines_and_their_return_are_marked_and_no_first_start() -> None:
    marking, marks = recorded()
    backend = Backend("http://e", revision="v2")
    for now in (
        EngineState.STARTING, EngineState.READY, EngineState.CRASHED, EngineState.WAITING, EngineState.READY,
        EngineState.DRAINING, EngineState.FAILED,
    ):  # fmt: skip
        marking.engine("demo-0", backend, now)
    assert [mark.text for mark in marks] == [
        "engine demo-0 failed", "engine demo-0 is back", "engine demo-0 is given up",
    ]  # fmt: skip
    assert marks[0].tags == ("teapot", "deployment:demo", "revision:v2", "kind:engine")


def test_without_a_grafana_nothing_is_marked_and_nothing_said() -> None:
    made = marking(Deployment(name="demo"), Path(), pytest.fail, {})
    made.starting("x")
    made.close()


def test_without_a_token_that_is_said_and_all_goes_on() -> None:
    said: list[str] = []
    made = marking(
        Deployment(name="demo", grafana=GrafanaSection(url="http://h", token_env="MINE")),
        Path(),
        said.append,
        {},
    )
    made.starting("x")
    made.close()
    (line,) = said
    assert line.startswith("nothing is marked in Grafana: MINE: there is no token for Grafana")


def test_the_token_comes_from_the_file_beside_the_deployment_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(EDITOR)
    with grafana() as fake:
        section = GrafanaSection(url=fake.url, token_file="token")
        made = marking(Deployment(name="demo", grafana=section), tmp_path, pytest.fail, {})
        made.starting("x")
        made.finish(20.0)
        assert [one["text"] for one in fake.annotations] == ["demo starts: x"]


def test_what_a_gate_decided_is_marked_as_a_verdict_on_both_revisions() -> None:
    marking, marks = recorded()
    marking.verdict("new: FAIL: errors", "main", "new")
    [mark] = marks
    assert mark.text == "new: FAIL: errors"
    assert mark.tags == ("teapot", "deployment:demo", "revision:main", "revision:new", "kind:verdict")
