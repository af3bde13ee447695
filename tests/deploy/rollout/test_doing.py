"""What actions become: requests to the serving process, and none where it is done already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes.fake_deployment import FakeDeployment, Revision

from deploy.rollout.doing import do, unavailable_s
from deploy.rollout.machine import Action, State
from deploy.rollout.plan import Plan, Step
from deploy.rollout.seen import read

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.1, 60.0), Step(1.0, 60.0)), baseline_file="/old.yaml",
)  # fmt: skip
REPLACE = replace(PLAN, strategy="replace")
MAIN = Revision("ready", "/old.yaml", 1.0)
NEW = Revision("ready", "/new.yaml", 0.0)


def done(action: Action, state: str, plan: Plan, **rows: Revision) -> list[str]:
    there = FakeDeployment({name: replace(row) for name, row in rows.items()})
    name: Any = state
    do(action, State(name=name, step=0), plan, read(there.status()), there)  # type: ignore[arg-type]
    return there.calls


@pytest.mark.parametrize(
    ("action", "state", "rows", "calls"),
    [
        (Action("start_canary"), "starting", {"main": MAIN}, ["begin new /new.yaml"]),
        (Action("start_canary"), "starting", {"main": MAIN, "new": NEW}, []),
        (Action("shadow_on"), "shadowing", {"main": MAIN, "new": NEW}, ["shadow new 1"]),
        (Action("shadow_off"), "moving", {"main": MAIN, "new": NEW}, ["shadow new 0"]),
        (Action("shadow_off"), "rolling_back", {"main": MAIN}, []),
        (Action("set_weights", 0.1), "moving", {"main": MAIN, "new": NEW}, ["weigh main=0.9 new=0.1"]),
        (Action("set_weights", 0.0), "rolling_back", {"main": MAIN, "new": NEW}, []),
        (
            Action("set_weights", 0.0), "rolling_back",
            {"main": replace(MAIN, weight=0.5), "new": replace(NEW, weight=0.5)}, ["weigh main=1"],
        ),
        (Action("end_canary"), "rolling_back", {"main": MAIN, "new": NEW}, ["end new finish"]),
        (Action("end_canary"), "rolling_back", {"main": MAIN, "new": replace(NEW, state="leaving")}, []),
        (Action("end_canary"), "rolling_back", {"main": MAIN}, []),
        # The last that can answer stays, bad as it may be.
        (Action("end_canary"), "rolling_back", {"main": replace(MAIN, down=True), "new": NEW}, []),
        (Action("end_canary"), "rolling_back", {"main": replace(MAIN, state="failed"), "new": NEW}, []),
        (
            Action("end_canary"), "rolling_back",
            {"main": replace(MAIN, down=True), "new": replace(NEW, down=True)}, ["end new finish"],
        ),
        (
            Action("set_weights", 0.0), "rolling_back",
            {"main": replace(MAIN, state="failed"), "new": NEW}, ["weigh new=1"],
        ),
        (Action("set_weights", 0.0), "rolling_back", {"new": replace(NEW, weight=1.0)}, []),
        (
            Action("end_baseline"), "promoting",
            {"main": replace(MAIN, weight=0.0), "new": replace(NEW, weight=1.0)}, ["end main finish"],
        ),
        (Action("end_baseline"), "promoting", {"new": replace(NEW, weight=1.0)}, []),
    ],
)  # fmt: skip
def test_an_action_is_a_request_unless_it_is_done(
    action: Action, state: str, rows: dict[str, Revision], calls: list[str]
) -> None:
    assert done(action, state, PLAN, **rows) == calls


@pytest.mark.parametrize(
    ("action", "state", "rows", "calls"),
    [
        (Action("end_baseline"), "clearing", {"main": MAIN}, ["begin new /new.yaml for main in 37"]),
        (Action("end_baseline"), "clearing", {"new": NEW}, []),
        (Action("start_canary"), "starting", {}, []),
        (Action("end_canary"), "rolling_back", {"new": NEW}, []),
        (Action("start_baseline"), "rolling_back", {"new": NEW}, ["begin main /old.yaml for new in 60"]),
        (Action("start_baseline"), "rolling_back", {"new": replace(NEW, state="failed")},
         ["begin main /old.yaml"]),
        (Action("start_baseline"), "rolling_back", {"main": MAIN}, []),
        (Action("set_weights", 0.0), "rolling_back", {"new": replace(NEW, weight=1.0)}, []),
    ],
)  # fmt: skip
def test_where_there_is_no_room_for_both_the_serving_process_does_the_exchange(
    action: Action, state: str, rows: dict[str, Revision], calls: list[str]
) -> None:
    assert done(action, state, REPLACE, **rows) == calls


def test_how_long_nobody_answers_is_what_the_old_engines_took_and_some_to_end() -> None:
    there = FakeDeployment({"main": MAIN})
    assert unavailable_s(REPLACE, read(there.status())) == 37  # 21.5 s and 15 s, in whole seconds
    assert unavailable_s(REPLACE, read(FakeDeployment({"new": NEW}).status())) == 60
