"""The states of a rollout and what moves it from one to the next, as one table.

Owns: states, events, the table, what each state has done when it is entered, and which timer is due. Knows
nothing about gateways, files, clocks or verdicts' reasons: who calls says what happened and when.

A state's actions depend on the state alone and may be done twice: so a controller that was killed reads its
last state from the journal and does that state's actions again. What is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from deploy.rollout.plan import OTHER_S, Plan
from serving.errors import Failed

StateName = Literal[
    "planned", "clearing", "starting", "proving", "warming", "shadowing", "moving", "baking", "holding",
    "asking", "promoting", "rolling_back", "done", "rolled_back", "failed",
]  # fmt: skip
EventName = Literal[
    "fits", "refused", "cleared", "engines_up", "proven", "engines_failed", "gone", "disturbed", "warmed",
    "shadowed", "moved", "passed", "failed", "inconclusive", "blind", "sighted", "timed_out", "waited_out",
    "removed", "promote", "abort", "lost", "nobody",
]  # fmt: skip
"""fits, refused: the new one was planned beside what runs. cleared: the old engines have ended (replace).
engines_up, proven, engines_failed: what the serving process says of the new revision. gone: it no longer
knows it. disturbed: the weights are not as they were set. blind, sighted: the evidence is away, and back.
timed_out, waited_out, shadowed: see `due`. removed: the revision that had to leave has left. passed, failed,
inconclusive: a look of the gate. promote, abort: by a person. lost: the old revision was given up or ended by
somebody, and the new one can answer. nobody: neither can, and there is nothing to wait for."""
Choice = Literal["->warmed", "->next", "->limit", "->end", "->fits", "->last", "->alone"]
"""Targets that depend on the plan or the step."""
ActionKind = Literal[
    "plan", "end_baseline", "start_canary", "warm", "shadow_on", "shadow_off", "set_weights", "end_canary",
    "start_baseline",
]  # fmt: skip

STATES: tuple[StateName, ...] = get_args(StateName)
EVENTS: tuple[EventName, ...] = get_args(EventName)
OVER: tuple[StateName, ...] = ("done", "rolled_back", "failed")
"""Nothing follows on them."""
_BEGINNING: tuple[StateName, ...] = ("clearing", "starting", "proving", "warming", "shadowing")
WATCHED: tuple[StateName, ...] = ("baking", "holding", "asking")
"""In them the gate looks."""
_BAD: tuple[EventName, ...] = ("engines_failed", "gone", "disturbed", "abort")
"""What ends a rollout wherever the canary could have been given requests."""

TABLE: Mapping[tuple[StateName, EventName], StateName | Choice] = {
    ("planned", "fits"): "->fits",
    ("planned", "refused"): "failed",
    ("planned", "timed_out"): "failed",
    ("planned", "abort"): "failed",
    ("planned", "lost"): "failed",
    ("planned", "blind"): "planned",
    ("planned", "sighted"): "planned",
    ("clearing", "cleared"): "starting",
    ("starting", "engines_up"): "proving",
    ("starting", "proven"): "warming",
    ("proving", "engines_up"): "proving",
    ("proving", "proven"): "warming",
    ("warming", "warmed"): "->warmed",
    ("shadowing", "shadowed"): "moving",
    ("shadowing", "failed"): "rolling_back",
    ("shadowing", "inconclusive"): "shadowing",
    **{(state, event): "rolling_back" for state in _BEGINNING for event in (*_BAD, "timed_out")},
    **{(state, event): state for state in _BEGINNING for event in ("blind", "sighted")},
    ("moving", "moved"): "baking",
    ("moving", "timed_out"): "rolling_back",
    ("moving", "blind"): "moving",
    ("moving", "sighted"): "moving",
    **{("moving", event): "rolling_back" for event in _BAD},
    ("baking", "inconclusive"): "holding",
    ("baking", "blind"): "holding",
    ("baking", "sighted"): "baking",
    ("baking", "waited_out"): "->limit",
    ("holding", "inconclusive"): "holding",
    ("holding", "blind"): "holding",
    ("holding", "sighted"): "baking",
    ("holding", "waited_out"): "->limit",
    ("asking", "inconclusive"): "asking",
    ("asking", "blind"): "asking",
    ("asking", "sighted"): "asking",
    **{(state, event): "->next" for state in WATCHED for event in ("passed", "promote")},
    **{(state, event): "rolling_back" for state in WATCHED for event in (*_BAD, "failed")},
    **{(state, "lost"): "->last" for state in ("warming", "shadowing", "moving", *WATCHED)},
    ("promoting", "removed"): "done",
    ("promoting", "gone"): "rolling_back",
    **{("promoting", event): "promoting" for event in ("engines_failed", "disturbed", "blind", "sighted",
                                                         "timed_out")},
    ("rolling_back", "removed"): "->end",
    ("rolling_back", "lost"): "->alone",
    ("rolling_back", "nobody"): "failed",
    **{("rolling_back", event): "rolling_back" for event in ("gone", "engines_failed", "disturbed", "blind",
                                                             "sighted", "timed_out", "abort", "failed")},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """Something to be done, that may be done twice. `weight_ratio` is the canary's share of requests."""

    kind: ActionKind
    weight_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where a rollout is. Times are Unix seconds."""

    name: StateName = "planned"
    since_s: float = 0.0
    """When it was entered."""
    step: int | None = None
    """The step that it is on, from 0; None: no request has been sent to the canary yet."""
    window_s: float | None = None
    """From when on the step's requests count."""
    why: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self.name in OVER


class Refused(Failed):
    """An event that means nothing in this state."""


def advance(state: State, event: EventName, plan: Plan, *, at_s: float, why: str = "") -> State:
    """The state that follows. The same state again is returned unchanged, so that its timers go on.

    Raises: Refused where the table has nothing for it.
    """
    target = TABLE.get((state.name, event))
    if target is None:
        raise Refused(
            f"'{event}' is not possible while the rollout is {state.name.replace('_', ' ')}",
            where=f"{plan.deployment}: {plan.canary}",
            fix=_FIX.get(state.name, "wait until it is further: `teapot rollout status` shows where it is"),
        )
    step, name = _resolved(state, target, plan)
    if name == state.name and step == state.step:
        return state
    moved = replace(state, name=name, step=step, since_s=at_s, why=why)
    if state.name == "moving" and name == "baking":
        return replace(moved, window_s=at_s + plan.settle_s)
    if name == "moving":
        return replace(moved, window_s=None)
    return moved


def begun_anew(state: State, plan: Plan, *, at_s: float) -> State:
    """The same state with its timers and its step's window from now on: the clock is another."""
    return replace(state, since_s=at_s, window_s=None if state.window_s is None else at_s + plan.settle_s)


def actions(state: State, plan: Plan) -> tuple[Action, ...]:
    """What has to be done in this state, in this order; each may have been done already."""
    if state.name == "moving":
        weight = Action("set_weights", plan.steps[state.step or 0].weight_ratio)
        return (Action("shadow_off"), weight) if plan.shadow_s else (weight,)
    if state.name == "rolling_back":
        return _back(state, plan)
    return _ON_ENTRY.get(state.name, ())


def due(state: State, plan: Plan, *, now_s: float) -> EventName | None:
    """The timer that has run out: `shadowed`, `waited_out` or `timed_out`; None: none has."""
    for_s = now_s - state.since_s
    if state.name in ("baking", "holding") and state.window_s is not None:
        bake_s = plan.steps[state.step or 0].bake_s
        return "waited_out" if now_s >= state.window_s + bake_s + plan.wait_s else None
    if state.name == "shadowing":
        return "shadowed" if for_s >= plan.shadow_s else None
    limit_s = plan.start_timeout_s if state.name == "starting" else _LIMITS_S.get(state.name)
    return "timed_out" if limit_s is not None and for_s >= limit_s else None


def _resolved(state: State, target: StateName | Choice, plan: Plan) -> tuple[int | None, StateName]:
    if target == "->fits":
        return None, "clearing" if plan.strategy == "replace" else "starting"
    if target == "->warmed":
        return (None, "shadowing") if plan.shadow_s else (0, "moving")
    if target == "->next":
        following = (state.step or 0) + 1
        return (following, "moving") if following < len(plan.steps) else (state.step, "promoting")
    if target == "->last":
        # Somebody has to answer: it gets all requests, and is judged on.
        return len(plan.steps) - 1, "moving"
    if target == "->alone":
        # There is nothing to go back to, so a person decides.
        return len(plan.steps) - 1, "asking"
    if target == "->limit":
        return state.step, "asking" if plan.then == "ask" else "rolling_back"
    if target == "->end":
        return state.step, "failed" if state.step is None else "rolled_back"
    return (0 if target == "moving" and state.step is None else state.step), target


def _back(state: State, plan: Plan) -> tuple[Action, ...]:
    if plan.strategy == "replace":
        # The old engines are not there any more and there is no room for both.
        return Action("end_canary"), Action("start_baseline"), Action("set_weights", 0.0)
    unshadow = (Action("shadow_off"),) if plan.shadow_s else ()
    return *unshadow, Action("set_weights", 0.0), Action("end_canary")


_ON_ENTRY: Mapping[StateName, tuple[Action, ...]] = {
    "planned": (Action("plan"),),
    "clearing": (Action("end_baseline"),),
    "starting": (Action("start_canary"),),
    "warming": (Action("warm"),),
    "shadowing": (Action("shadow_on"),),
    "promoting": (Action("end_baseline"),),
}
_LIMITS_S: Mapping[StateName, float] = {
    "planned": OTHER_S,
    "clearing": OTHER_S,
    "proving": OTHER_S,
    "warming": OTHER_S,
    "moving": OTHER_S,
}
_FIX: Mapping[StateName, str] = {
    "promoting": "it has been promoted; to go back, roll the old file out",
    "done": "it is over; start another",
    "rolled_back": "it is over; start another",
    "failed": "it is over; start another",
    "rolling_back": "it goes back already; wait until that is done",
}
