"""What is said of a rollout: to people, to the gateway's metrics, to the boards.

Owns: the words and the document. Pure. Knows nothing about who reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deploy.rollout.machine import State
from deploy.rollout.plan import Plan
from deploy.rollout.watch import Watch
from serving.config.units import format_duration

_WORDS = {
    "planned": "planning it beside what runs",
    "clearing": "ending the old engines, which leave no room",
    "starting": "starting its engines",
    "proving": "proving its modes",
    "warming": "warming it up",
    "shadowing": "sending it copies of requests",
    "moving": "moving requests",
    "baking": "watching",
    "holding": "holding: too little to tell",
    "asking": "asking: promote or abort",
    "promoting": "ending the old engines",
    "rolling_back": "going back",
    "done": "promoted",
    "rolled_back": "rolled back",
    "failed": "failed",
}


def document(state: State, plan: Plan, watch: Watch, now_s: float) -> dict[str, Any]:
    """What `PUT /rollout` takes."""
    last = watch.last
    checks = {} if last is None else last.judgement.findings
    return {
        "revision": plan.canary,
        "baseline": plan.baseline,
        "strategy": plan.strategy,
        "state": state.name,
        "why": state.why,
        "step": None if state.step is None else state.step + 1,
        "steps": len(plan.steps),
        "weight_ratio": weight_of(state, plan),
        "requests": None if last is None else last.requests,
        "min_requests": plan.min_requests,
        "checks": {name: found.answer.lower().replace(" ", "_") for name, found in checks.items()},
        "looks": dict(watch.looks),
        "told_s": now_s,
    }


def weight_of(state: State, plan: Plan) -> float:
    """The share of requests that the canary is to have."""
    if state.name == "done" or state.name == "promoting":
        return 1.0
    if state.step is None or state.over or state.name == "rolling_back":
        return 0.0
    return plan.steps[state.step].weight_ratio


def line(state: State, plan: Plan) -> str:
    """A state as a line for people."""
    told = f"{plan.canary}: {_WORDS[state.name]}"
    if state.name == "failed" and state.step is None:
        told += " before a request was moved"
    if state.step is not None and not state.over:
        told += f" (step {state.step + 1} of {len(plan.steps)}, {weight_of(state, plan):.0%})"
    return f"{told}: {state.why}" if state.why else told


def progress(state: State, plan: Plan, watch: Watch, now_s: float) -> str:
    """What is going on at this moment, for a line that is rewritten."""
    told = [line(state, plan), f"for {format_duration(round(max(0.0, now_s - state.since_s)))}"]
    if state.window_s is not None and state.step is not None:
        left = state.window_s + plan.steps[state.step].bake_s - now_s
        told.append(f"decides in {format_duration(round(left))}" if left > 0 else "decides")
    if watch.last is not None:
        told.append(f"{watch.last.requests} requests")
    return ", ".join(told)


def shown(plan: Plan, lines: tuple[Mapping[str, Any], ...]) -> Iterator[str]:
    """A journal as lines for people: states, decisive looks, notes."""
    began = lines[0]["at"] if lines else 0.0
    yield f"{plan.deployment}: {plan.baseline} -> {plan.canary} ({plan.strategy}) from {plan.file}"
    for row in lines:
        at = format_duration(round(row["at"] - began))
        if row["kind"] == "state":
            state = State(**row["state"])
            yield f"  {at:>8}  {line(state, plan)}"
        elif row["kind"] == "look" and (row["decisive"] or row["verdict"] == "FAIL"):
            yield f"  {at:>8}  {row['verdict']}{_because(row)}"
        elif row["kind"] == "quality":
            yield f"  {at:>8}  answers compared: {row['outcome']}: {'; '.join(row['reasons'])}"
        elif row["kind"] == "note":
            yield f"  {at:>8}  {row['text']}"


def table(look: Mapping[str, Any]) -> Iterator[str]:
    """The checks of a look, as `Judgement.to_json` tells it."""
    rows = [(name, row["answer"], row["why"]) for name, row in look["checks"].items()]
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, answer, why in rows:
        yield f"  {name:<{width}}  {answer:<12}  {why}"


def _because(row: Mapping[str, Any]) -> str:
    why = [f"{name}: {c['why']}" for name, c in row["checks"].items() if c["answer"] == row["verdict"]]
    return "" if row["verdict"] == "PASS" or not why else ": " + "; ".join(why)
