from __future__ import annotations

import pytest

from serving.gateway.backends import Backend
from serving.gateway.state import GatewayState, OwnRevision, Phase
from serving.modes.mode import Verdict


@pytest.mark.parametrize(
    ("phase", "backend_state", "code"),
    [
        ("starting", "ready", "engine_starting"),
        ("ready", "starting", "no_engine_ready"),
        ("ready", "down", "no_engine_ready"),
        ("draining", "ready", "shutting_down"),
        ("stopped", "ready", "shutting_down"),
    ],
)
def test_it_says_why_it_takes_no_request(phase: Phase, backend_state: str, code: str) -> None:
    state = GatewayState("demo", phase=phase)
    state.backends.add(Backend("a", state=backend_state))  # type: ignore[arg-type]
    unready = state.unready()
    assert unready is not None
    assert unready.code == code


def test_ready_with_one_ready_engine_takes_requests() -> None:
    state = GatewayState("demo", phase="ready")
    state.backends.add(Backend("a", state="down"))
    state.backends.add(Backend("b", state="ready"))
    assert state.unready() is None


def test_the_document_of_a_new_gateway_is_empty_but_whole() -> None:
    assert GatewayState("demo").document() == {
        "name": "demo", "state": "starting", "revisions": [], "modes": [], "prometheus": None,
    }  # fmt: skip


def test_other_weights_are_told_and_the_same_ones_are_not() -> None:
    state, told = GatewayState("demo"), []
    for revision in ("old", "new"):
        state.backends.add(Backend(f"http://{revision}", revision=revision))
    state.reweighted = lambda: told.append([r.weight for r in state.backends.revisions()])
    state.set_weights({"old": 3, "new": 1})
    state.set_weights({"old": 75, "new": 25})
    with pytest.raises(ValueError, match="all weights are 0"):
        state.set_weights({"old": 0})
    assert told == [[0.75, 0.25]]


def two() -> GatewayState:
    state = GatewayState("demo", phase="ready")
    state.backends.add(Backend("a", state="ready", revision="old"))
    state.backends.add(Backend("b", state="ready", revision="new"))
    state.set_weights({"old": 1})
    return state


def test_a_revision_of_own_engines_is_told_with_its_state_its_problem_and_its_modes() -> None:
    state = two()
    state.tell("new", OwnRevision("proving", "/x/new.yaml", None, [Verdict("lora", "a", True, "seen")]))
    state.tell("later", OwnRevision("failed", "/x/later.yaml", "no memory"))
    old, new, later = state.document()["revisions"]
    assert "state" not in old
    assert (new["state"], new["file"], new["problem"]) == ("proving", "/x/new.yaml", None)
    assert new["modes"] == [{"kind": "lora", "asked": "a", "in_effect": True, "evidence": "seen"}]
    assert (later["weight"], later["backends"], later["problem"]) == (0.0, [], "no memory")
    state.tell("later", None)
    assert len(state.document()["revisions"]) == 2


def test_the_deployments_modes_are_those_of_the_revision_with_the_largest_share() -> None:
    state = two()
    state.tell("old", OwnRevision("ready", verdicts=[Verdict("lora", "a", True, "")]))
    state.tell("new", OwnRevision("ready", verdicts=[Verdict("prefix_cache", "on", True, "")]))
    assert [mode["kind"] for mode in state.document()["modes"]] == ["lora"]
    state.set_weights({"old": 1, "new": 3})
    assert [mode["kind"] for mode in state.document()["modes"]] == ["prefix_cache"]


def test_modes_that_are_told_do_not_outlive_their_revision_where_most_requests_go_elsewhere() -> None:
    state = two()
    state.backends.add(Backend("http://elsewhere", state="ready", revision="elsewhere"))
    state.verdicts = [Verdict("lora", "a", True, "")]
    state.tell("old", OwnRevision("ready", verdicts=state.verdicts))
    state.tell("new", OwnRevision("ready", verdicts=[Verdict("prefix_cache", "on", True, "")]))
    state.set_weights({"old": 4, "elsewhere": 6})
    assert [mode["kind"] for mode in state.document()["modes"]] == ["lora"]
    state.set_weights({"new": 4, "elsewhere": 6})
    assert [mode["kind"] for mode in state.document()["modes"]] == ["prefix_cache"]


def test_requests_are_taken_as_long_as_a_proven_revision_can_step_in() -> None:
    state = two()
    state.tell("new", OwnRevision("proving"))
    next(iter(state.backends)).state = "down"
    assert state.refuses() is not None
    state.tell("new", OwnRevision("ready"))
    assert state.refuses() is None
    state.tell("new", OwnRevision("leaving"))
    assert state.refuses() is not None


@pytest.mark.parametrize("gone", ["failed", "leaving"])
def test_a_revision_that_failed_or_leaves_is_given_no_share(gone: str) -> None:
    state = two()
    state.tell("new", OwnRevision(gone))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"'new' is {gone}"):
        state.set_weights({"old": 1, "new": 1})
    assert [r.weight for r in state.backends.revisions()] == [1.0, 0.0]
