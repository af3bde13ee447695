"""The table of states, whole: every state and every event, and that whoever aborts ends on a safe weight."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from deploy.rollout.machine import (
    EVENTS,
    OVER,
    STATES,
    TABLE,
    Action,
    EventName,
    Refused,
    State,
    StateName,
    actions,
    advance,
    due,
)
from deploy.rollout.plan import Plan, Step

STEPS = (Step(0.01, 600.0), Step(0.5, 600.0), Step(1.0, 900.0))
PLAN = Plan(
    deployment="demo", canary="v2", baseline="main", file="v2.yaml", strategy="canary", steps=STEPS,
    settle_s=10.0, wait_s=1800.0,
)  # fmt: skip
PLANS = (
    PLAN,
    replace(PLAN, shadow_s=60.0),
    replace(PLAN, then="ask"),
    replace(PLAN, strategy="blue_green", steps=STEPS[-1:]),
    replace(PLAN, strategy="replace", steps=STEPS[-1:]),
)
BEFORE: tuple[StateName, ...] = ("planned", "clearing", "starting", "proving", "warming", "shadowing")


def at(name: StateName, plan: Plan = PLAN) -> State:
    """A state as a rollout comes to it: with a step where it has one."""
    step = None if name in BEFORE else 0
    return State(name=name, since_s=100.0, step=step, window_s=None if step is None else 110.0)


def walk(plan: Plan, *events: EventName, start: State | None = None) -> list[str]:
    state, names = start or State(), []
    for event in events:
        state = advance(state, event, plan, at_s=0.0)
        names.append(state.name if state.step is None else f"{state.name} {state.step}")
    return names


@pytest.mark.parametrize(("name", "event"), sorted(TABLE))
def test_every_event_of_the_table_leads_to_a_state(name: StateName, event: EventName) -> None:
    for plan in PLANS:
        assert advance(at(name), event, plan, at_s=200.0).name in STATES


@pytest.mark.parametrize(("name", "event"), sorted({*product(STATES, EVENTS)} - TABLE.keys()))
def test_every_other_event_is_refused_with_what_to_do(name: StateName, event: EventName) -> None:
    for plan in PLANS:
        with pytest.raises(Refused, match=f"'{event}' is not possible while") as refused:
            advance(at(name), event, plan, at_s=200.0)
        assert refused.value.problems[0].where == "demo: v2"
        assert refused.value.problems[0].fix


@pytest.mark.parametrize("name", STATES)
def test_from_every_state_an_abort_leads_to_a_safe_weight(name: StateName) -> None:
    for plan in PLANS:
        try:
            after = advance(at(name), "abort", plan, at_s=200.0)
        except Refused:
            # What is over has settled; a promoted revision has passed, and the weight is on it.
            assert name in (*OVER, "promoting")
            continue
        if name == "planned":
            assert after.name == "failed"  # nothing was done that would have to be undone
            continue
        assert after.name == "rolling_back"
        assert Action("set_weights", 0.0) in actions(after, plan)
        assert Action("end_canary") in actions(after, plan)


@pytest.mark.parametrize("name", STATES)
def test_no_state_but_the_last_three_is_a_dead_end(name: StateName) -> None:
    leaving = {event for (state, event), target in TABLE.items() if state == name and target != name}
    assert bool(leaving) == (name not in OVER)


def test_every_state_can_be_reached() -> None:
    seen: set[str] = set()
    for plan in PLANS:
        known, waiting = {("planned", None)}, [State()]
        while waiting:
            state = waiting.pop()
            for event in EVENTS:
                if (state.name, event) in TABLE:
                    after = advance(state, event, plan, at_s=0.0)
                    if (after.name, after.step) not in known:
                        known.add((after.name, after.step))
                        waiting.append(after)
        seen |= {name for name, _ in known}
    assert seen == set(STATES)


def test_a_good_canary_goes_up_step_by_step_and_is_promoted() -> None:
    assert walk(
        PLAN, "fits", "engines_up", "proven", "warmed", "moved", "passed", "moved", "passed", "moved",
        "passed", "removed",
    ) == [
        "starting", "proving", "warming", "moving 0", "baking 0", "moving 1", "baking 1", "moving 2",
        "baking 2", "promoting 2", "done 2",
    ]  # fmt: skip


def test_a_bad_canary_goes_back_in_one_step() -> None:
    start = at("baking")
    assert walk(PLAN, "failed", "removed", start=start) == ["rolling_back 0", "rolled_back 0"]


def test_a_rollout_that_never_gave_the_canary_a_request_has_failed_and_not_gone_back() -> None:
    assert walk(PLAN, "fits", "engines_failed", "removed") == ["starting", "rolling_back", "failed"]


def test_shadow_traffic_comes_before_the_first_step() -> None:
    plan = replace(PLAN, shadow_s=60.0)
    assert walk(plan, "shadowed", start=advance(at("warming"), "warmed", plan, at_s=0.0)) == ["moving 0"]
    assert actions(at("shadowing"), plan) == (Action("shadow_on"),)
    assert actions(at("moving"), plan) == (Action("shadow_off"), Action("set_weights", 0.01))


def test_replacing_ends_the_old_engines_first_and_starts_them_again_on_the_way_back() -> None:
    plan = PLANS[-1]
    assert walk(plan, "fits", "cleared") == ["clearing", "starting"]
    assert actions(at("clearing"), plan) == (Action("end_baseline"),)
    assert actions(at("rolling_back"), plan) == (
        Action("end_canary"), Action("start_baseline"), Action("set_weights", 0.0),
    )  # fmt: skip


def test_old_engines_stay_until_the_last_step_is_passed() -> None:
    for name in STATES:
        ends = Action("end_baseline") in actions(at(name), PLAN)
        assert ends == (name in ("promoting", "clearing"))


def test_inconclusive_holds_and_then_goes_back_or_asks() -> None:
    assert walk(PLAN, "inconclusive", "waited_out", start=at("baking")) == ["holding 0", "rolling_back 0"]
    asking = replace(PLAN, then="ask")
    assert walk(asking, "inconclusive", "waited_out", "promote", start=at("baking")) == [
        "holding 0", "asking 0", "moving 1",
    ]  # fmt: skip


def test_without_evidence_it_holds_and_goes_on_when_it_is_back() -> None:
    held = advance(at("baking"), "blind", PLAN, at_s=300.0)
    assert held.name == "holding"
    back = advance(held, "sighted", PLAN, at_s=400.0)
    assert (back.name, back.window_s) == ("baking", 110.0)


def test_a_person_may_promote_the_last_step() -> None:
    last = replace(at("holding"), step=2)
    assert walk(PLAN, "promote", start=last) == ["promoting 2"]


def test_the_same_state_again_leaves_its_timer_alone() -> None:
    state = at("holding")
    assert advance(state, "inconclusive", PLAN, at_s=900.0) is state


def test_requests_count_from_when_weights_have_settled() -> None:
    baking = advance(at("moving"), "moved", PLAN, at_s=500.0)
    assert baking.window_s == 510.0
    assert advance(baking, "passed", PLAN, at_s=1200.0).window_s is None


@pytest.mark.parametrize(
    ("name", "seconds", "event"),
    [
        ("starting", 1199.0, None),
        ("starting", 1200.0, "timed_out"),
        ("proving", 600.0, "timed_out"),
        ("warming", 599.0, None),
        ("moving", 600.0, "timed_out"),
        ("rolling_back", 1e9, None),
        ("promoting", 1e9, None),
        ("asking", 1e9, None),
        ("done", 1e9, None),
        ("baking", 10.0 + 600.0 + 1799.0, None),
        ("baking", 10.0 + 600.0 + 1800.0, "waited_out"),
        ("holding", 10.0 + 600.0 + 1800.0, "waited_out"),
    ],
)
def test_each_state_lasts_as_long_as_it_may(name: StateName, seconds: float, event: str | None) -> None:
    assert due(at(name), PLAN, now_s=100.0 + seconds) == event


def test_evidence_that_comes_and_goes_does_not_put_the_end_of_the_wait_off() -> None:
    state = at("baking")
    for moment, event in ((800.0, "blind"), (1200.0, "sighted"), (1600.0, "blind"), (2500.0, "sighted")):
        state = advance(state, event, PLAN, at_s=moment)  # type: ignore[arg-type]  # a word of the table
    assert due(state, PLAN, now_s=110.0 + 600.0 + 1800.0) == "waited_out"


def test_shadowing_ends_by_itself() -> None:
    plan = replace(PLAN, shadow_s=60.0)
    assert due(at("shadowing"), plan, now_s=159.0) is None
    assert due(at("shadowing"), plan, now_s=160.0) == "shadowed"


def test_a_timer_that_runs_out_is_an_event_that_its_state_knows() -> None:
    for name in STATES:
        event = due(at(name), replace(PLAN, shadow_s=60.0), now_s=1e9)
        assert event is None or (name, event) in TABLE


def test_with_the_old_one_lost_the_last_step_comes_at_once_and_going_back_asks() -> None:
    for name in ("warming", "shadowing", "moving", "baking", "holding", "asking"):
        assert walk(PLAN, "lost", "moved", "passed", start=at(name)) == [
            "moving 2", "baking 2", "promoting 2",
        ]  # fmt: skip
    assert walk(PLAN, "failed", "lost", "promote", start=at("baking")) == [
        "rolling_back 0", "asking 2", "promoting 2",
    ]  # fmt: skip
    assert walk(PLAN, "lost") == ["failed"]
    assert walk(PLAN, "engines_failed", "nobody", start=at("baking")) == ["rolling_back 0", "failed 0"]


def test_what_is_over_says_what_to_do_instead() -> None:
    with pytest.raises(Refused, match="'abort' is not possible while the rollout is rolled back"):
        advance(at("rolled_back"), "abort", PLAN, at_s=0.0)
    with pytest.raises(Refused, match="to go back, roll the old file out") as refused:
        advance(at("promoting"), "abort", PLAN, at_s=0.0)
    assert refused.value.exit_code == 1
