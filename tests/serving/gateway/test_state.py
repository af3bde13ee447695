from __future__ import annotations

import pytest

from serving.gateway.backends import Backend
from serving.gateway.state import GatewayState, Phase


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
