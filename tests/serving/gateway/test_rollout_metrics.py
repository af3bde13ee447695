"""What Prometheus sees of a rollout that the gateway was told of."""

from __future__ import annotations

import pytest
from fakes.samples import total

from serving.facts.load import rollout_metrics
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.rollout_metrics import check_told
from serving.gateway.state import GatewayState

TOLD = {
    "revision": "new", "baseline": "main", "strategy": "canary", "state": "baking", "why": "", "step": 2,
    "steps": 4, "weight_ratio": 0.1, "requests": 321, "min_requests": 600, "told_s": 1.5e9,
    "checks": {"errors": "pass", "mix": "not_judged"}, "looks": {"inconclusive": 3, "pass": 1},
}  # fmt: skip


def told(**changed: object) -> GatewayMetrics:
    state = GatewayState("demo")
    state.rollout = TOLD | changed
    return GatewayMetrics(state)


def test_every_row_of_the_facts_is_exposed() -> None:
    text = told().exposition().decode()
    missing = [row.name for row in rollout_metrics().values() if f"\n{row.name}{{" not in text]
    assert missing == []


def test_the_state_the_step_and_what_each_check_said_are_told() -> None:
    registry = told().registry
    assert total(registry, "teapot_rollout_state", state="baking") == 1
    assert total(registry, "teapot_rollout_state") == 1
    assert total(registry, "teapot_rollout_step", revision="new") == 2
    assert total(registry, "teapot_rollout_weight_ratio") == 0.1
    assert total(registry, "teapot_rollout_check", check="errors", answer="pass") == 1
    assert total(registry, "teapot_rollout_check", check="errors") == 1
    assert total(registry, "teapot_rollout_looks_total", verdict="inconclusive") == 3
    assert total(registry, "teapot_rollout_looks_total", verdict="fail") == 0
    assert total(registry, "teapot_rollout_info", baseline="main", strategy="canary") == 1


def test_what_is_not_known_is_absent_and_not_0() -> None:
    registry = told(step=None, requests=None).registry
    assert total(registry, "teapot_rollout_step") is None
    assert total(registry, "teapot_rollout_requests") is None


def test_without_a_rollout_there_are_no_series() -> None:
    assert b"teapot_rollout" not in GatewayMetrics(GatewayState("demo")).exposition()


@pytest.mark.parametrize(
    "wrong",
    [
        {"revision": 1},
        {"state": None},
        {"step": True},
        {"told_s": "now"},
        {"checks": []},
        {"looks": {"pass": "1"}},
    ],
)
def test_what_could_not_be_told_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        check_told(TOLD | wrong)
