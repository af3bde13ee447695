"""What a journal tells, and where it leads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fakes.canaries import LOOK, evidence, healthy

from deploy.rollout.entries import begun, looked, moved, noted, opened, replay
from deploy.rollout.evidence import Reading
from deploy.rollout.gate import judge
from deploy.rollout.machine import EventName, State, advance
from deploy.rollout.plan import Plan, Step
from serving.errors import Failed

PLAN = Plan(
    deployment="demo", canary="v2", baseline="main", file="v2.yaml", strategy="canary",
    steps=(Step(0.5, 600.0), Step(1.0, 600.0)),
)  # fmt: skip
EVENTS: tuple[EventName, ...] = (
    "fits", "engines_up", "proven", "warmed", "moved", "blind", "sighted", "inconclusive", "passed", "moved",
    "failed", "removed",
)  # fmt: skip


def through_disk(line: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(line, allow_nan=False))


def test_after_every_line_of_a_rollout_its_replay_is_where_it_was() -> None:
    lines = [through_disk(begun(PLAN, at_s=50.0))]
    state = State(since_s=50.0)
    for number, event in enumerate(EVENTS, start=1):
        state = advance(state, event, PLAN, at_s=50.0 + number, why=f"because {number}")
        lines.append(through_disk(moved(state, event)))
        found = replay(lines)
        assert found is not None
        assert (found.plan, found.state) == (PLAN, state)
    assert state.name == "rolled_back"


def test_a_journal_without_a_plan_is_no_rollout() -> None:
    assert replay([]) is None


def test_the_last_look_is_found_again() -> None:
    seen = evidence(health=healthy(failures=3.0))
    line = looked(judge(seen, PLAN, LOOK), seen, PLAN, decisive=True)
    found = replay([through_disk(row) for row in (begun(PLAN, at_s=0.0), line, noted("disk full", at_s=2.0))])
    assert found is not None
    assert found.judgement is not None
    assert (
        found.judgement["checks"]["failures"]["why"] == "its engines failed 3 times since they were started"
    )


def test_a_look_tells_its_window_its_numbers_and_the_queries_that_give_them_again() -> None:
    seen = evidence()
    line = through_disk(looked(judge(seen, PLAN, LOOK), seen, PLAN, decisive=True))
    assert (line["at"], line["window_s"], line["verdict"]) == (1600.0, [1000.0, 1600.0], "PASS")
    assert line["queries"]["judged"] == [
        'sum by (slo, met) (teapot_slo_requests_total{deployment="demo", revision="v2"})',
        'sum by (slo, met) (teapot_slo_requests_total{deployment="demo", revision="main"})',
    ]
    assert line["checks"]["errors"]["numbers"]["baseline_n"] == 2000


def test_a_look_that_decides_nothing_is_told_without_queries() -> None:
    seen = evidence()
    early = replace(LOOK, pass_tail=None)
    assert "queries" not in looked(judge(seen, PLAN, early), seen, PLAN, decisive=False)
    bad = evidence(health=healthy(ready=0))
    assert "queries" in looked(judge(bad, PLAN, early), bad, PLAN, decisive=False)


def test_an_open_window_tells_what_both_had_counted() -> None:
    line = through_disk(opened(Reading(5.0, "v2", {"ready": {"": 1.0}}), Reading(5.0, "main", {})))
    assert (line["at"], line["kind"]) == (5.0, "window")
    assert Reading(**line["canary"]).counts == {"ready": {"": 1.0}}


@pytest.mark.parametrize(
    "lines",
    [
        [{"at": 0.0, "kind": "plan", "schema": 99, "plan": {}}],
        [{"at": 0.0, "kind": "plan", "schema": 1, "plan": {"deployment": "demo"}}],
        [{"kind": "state", "state": {"name": "baking", "colour": "red"}}],
        [{"at": 0.0}],
    ],
)
def test_a_journal_of_another_version_is_refused(lines: list[dict[str, Any]]) -> None:
    with pytest.raises(Failed, match=r"the journal cannot be read: .* version of teapot that began it"):
        replay(lines)
