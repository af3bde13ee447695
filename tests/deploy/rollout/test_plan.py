"""What a rollout is going to do, made of a file."""

from __future__ import annotations

import json

import pytest

from deploy.rollout.plan import Plan, Step, plan_of
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.errors import UsageError


def plan(text: str = "", canary: str = "v2") -> Plan:
    new = validate(parse(f"name: demo\n{text}", "v2.yaml"), Deployment)
    return plan_of(new, "v2.yaml", canary=canary, baseline="main")


def test_a_file_that_says_nothing_of_it_goes_over_in_four_steps_of_ten_minutes() -> None:
    made = plan()
    assert made.steps == (Step(0.01, 600.0), Step(0.1, 600.0), Step(0.5, 600.0), Step(1.0, 600.0))
    assert (made.strategy, made.then, made.on_rollback, made.quality) == (
        "canary",
        "rollback",
        "finish",
        True,
    )


def test_what_the_file_says_is_in_the_plan() -> None:
    made = plan(
        "engine: {start_timeout: 5min}\n"
        "rollout:\n"
        "  steps: [{weight: 20, bake: 1min}, {weight: 100, bake: 2min}]\n"
        "  shadow: 30s\n  settle: 5s\n  look_every: 10s\n  min_requests: 50\n"
        "  inconclusive: {wait: 4min, then: ask}\n  gates: {errors: 0.01}\n"
        "  quality: false\n  on_rollback: cut\n"
    )
    assert made.steps == (Step(0.2, 60.0), Step(1.0, 120.0))
    assert (made.shadow_s, made.settle_s, made.look_every_s, made.wait_s) == (30.0, 5.0, 10.0, 240.0)
    assert (made.min_requests, made.then, made.quality, made.on_rollback) == (50, "ask", False, "cut")
    assert (made.gates.errors, made.gates.aborts, made.start_timeout_s) == (0.01, 0.03, 300.0)


def test_a_pair_goes_over_as_a_whole_because_its_engines_must_match() -> None:
    made = plan("modes: [{kind: disaggregated, prefill: 1, decode: 1, connector: {kind: nixl}}]\n")
    assert (made.strategy, made.steps) == ("blue_green", (Step(1.0, 600.0),))


@pytest.mark.parametrize("strategy", ["blue_green", "replace"])
def test_what_goes_over_as_a_whole_is_watched_as_long_as_the_last_step(strategy: str) -> None:
    made = plan(
        f"rollout: {{strategy: {strategy}, shadow: 1min,"
        f" steps: [{{weight: 5}}, {{weight: 100, bake: 3min}}]}}\n"
    )
    assert made.steps == (Step(1.0, 180.0),)
    assert made.shadow_s == (60.0 if strategy == "blue_green" else 0.0)


def test_a_new_revision_by_the_old_name_is_refused() -> None:
    with pytest.raises(UsageError, match=r"v2.yaml: revisions: .* 'main', as the running one"):
        plan(canary="main")


def test_a_plan_comes_back_from_its_json_as_it_was() -> None:
    made = plan("rollout: {gates: {ttft: 1.5}, steps: [{weight: 100, bake: 90s}]}\n")
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made
