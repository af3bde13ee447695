"""What the status of a running deployment means to a rollout.

Owns: reading the document, the shares that a step asks for, and which event it tells of. Pure. Knows nothing
about how the document is had, or about the gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.rollout.machine import WATCHED, EventName, State
from deploy.rollout.plan import Plan
from serving.errors import Failed, UsageError
from serving.gateway.backends import ANSWERING

_AS_SET = 1e-6


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine of a revision. `url` is what the label `backend` says."""

    url: str
    role: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One revision with engines of the deployment's own."""

    name: str
    state: str
    weight: float
    problem: str | None
    file: str
    up_in_s: float | None
    engines: tuple[Engine, ...] = ()
    modes: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def answering(self) -> tuple[Engine, ...]:
        """Those whose tokens clients get."""
        return tuple(engine for engine in self.engines if engine.role in ANSWERING)

    @property
    def answers(self) -> bool:
        """Whether clients can get tokens of it now."""
        return self.state == "ready" and any(engine.ready for engine in self.answering)


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at `GET /status`."""

    deployment: str
    rows: Mapping[str, Row]
    weights: Mapping[str, float]
    """Of all revisions, those elsewhere too."""
    prometheus: str | None

    def row(self, name: str) -> Row | None:
        """A revision with own engines; None: there is none."""
        return self.rows.get(name)


def read(status: Mapping[str, Any]) -> Seen:
    """The document as a rollout sees it."""
    revisions = status["revisions"]
    return Seen(
        status["name"],
        {row["name"]: _row(row) for row in revisions if "state" in row},
        {row["name"]: float(row["weight"]) for row in revisions},
        status.get("prometheus"),
    )


def baseline_of(seen: Seen) -> Row:
    """The revision that a new one is to take the place of: own engines with the largest share.

    Raises: UsageError where there is none; Failed where it cannot answer, for then there would be nothing to
    compare with and nothing to go back to.
    """
    serving = [row for row in seen.rows.values() if row.weight > 0]
    if not serving:
        raise UsageError(
            f"no revision of '{seen.deployment}' with engines of its own has requests to hand over",
            fix="start it with `teapot serve`; revisions elsewhere are weighted with PUT /revisions",
        )
    unable = next((row for row in serving if row.state != "ready"), None)
    found = max(serving, key=lambda row: row.weight) if unable is None else unable
    if not found.answers:
        raise Failed(
            f"revision '{found.name}' has requests and cannot answer them: {_standing(found)}",
            where=f"revision {found.name} of '{seen.deployment}'",
            fix="wait until `teapot status` shows it ready; or give its requests to another (PUT /revisions) "
            "and end it (DELETE); or `teapot serve` the new file in its place",
        )
    return found


def lost(plan: Plan, seen: Seen) -> str | None:
    """Why there is no old revision to go back to any more; None: there is, or it had to make room."""
    row = seen.row(plan.baseline)
    if plan.strategy == "replace":
        # It is not there while the new one is. Only one that did not come up again is lost.
        return None if row is None or row.state != "failed" else f"the old revision {_told(row)}"
    if row is None:
        return f"the old revision '{plan.baseline}' is gone"
    return f"the old revision {_told(row)}" if row.state in ("failed", "leaving") else None


def alone(plan: Plan, seen: Seen) -> bool:
    """Whether nobody but the new revision can answer, and nobody else will."""
    canary = seen.row(plan.canary)
    return canary is not None and canary.state == "ready" and lost(plan, seen) is not None


def came_again(state: State, plan: Plan, seen: Seen) -> bool:
    """Whether the deployment was started again with the new file, under the new revision's name."""
    canary = seen.row(plan.canary)
    coming = canary is not None and canary.state in ("planned", "starting", "proving")
    return coming and (state.name == "moving" or state.name in WATCHED)


def stays(plan: Plan, seen: Seen) -> str:
    """Why a revision that goes back still has its engines, in words; empty: it may leave."""
    canary, baseline = seen.row(plan.canary), seen.row(plan.baseline)
    if canary is None or not canary.answers or baseline is None or baseline.answers:
        return ""
    return f"no engine of '{plan.baseline}' is ready, so '{plan.canary}' goes on answering until one is"


def shares(seen: Seen, plan: Plan, ratio: float) -> dict[str, float]:
    """The weights that give the canary its ratio of what canary and baseline have together.

    Revisions elsewhere keep their shares.
    """
    ours = (plan.canary, plan.baseline)
    found = {name: weight for name, weight in seen.weights.items() if name not in ours and weight > 0}
    both = 1.0 - math.fsum(found.values())
    there = {name: share for name, share in ((plan.canary, ratio), (plan.baseline, 1 - ratio)) if share > 0}
    return found | {name: share * both for name, share in there.items()}


def as_set(seen: Seen, plan: Plan, ratio: float) -> bool:
    """Whether canary and baseline divide their requests in that ratio."""
    canary, baseline = (seen.weights.get(name, 0.0) for name in (plan.canary, plan.baseline))
    both = canary + baseline
    return both > 0 and abs(canary / both - ratio) <= _AS_SET


def event_of(state: State, plan: Plan, seen: Seen) -> tuple[EventName, str] | None:
    """What has happened to the revisions, in a state whose actions are done; None: nothing yet."""
    canary, baseline = seen.row(plan.canary), seen.row(plan.baseline)
    if state.name == "rolling_back":
        return _going_back(state, plan, seen)
    if state.name == "promoting":
        if canary is None:
            return "gone", "the new revision is gone"
        return ("removed", "") if baseline is None else None
    why = lost(plan, seen)
    if state.name == "planned":
        return None if why is None else ("lost", f"{why}, so there is nothing to compare with")
    if canary is None or canary.state == "leaving":
        return "gone", "the deployment does not know the new revision any more"
    if canary.state == "failed":
        return "engines_failed", canary.problem or "its engines failed"
    if state.name == "clearing":
        return ("cleared", "") if baseline is None else None
    if state.name in ("starting", "proving"):
        event: dict[str, EventName] = {"proving": "engines_up", "ready": "proven"}
        found = event.get(canary.state)
        return None if found is None or (found, state.name) == ("engines_up", "proving") else (found, "")
    if why is not None and (state.step is None or plan.steps[state.step].weight_ratio < 1):
        return "lost", f"{why}; the new one gets all requests, for nobody else can answer"
    return _weights(state, plan, seen)


def _going_back(state: State, plan: Plan, seen: Seen) -> tuple[EventName, str] | None:
    canary, baseline, why = seen.row(plan.canary), seen.row(plan.baseline), lost(plan, seen)
    if why is not None and alone(plan, seen):
        if not as_set(seen, plan, 1.0):
            return None
        first = f"{state.why}. " if state.why else ""
        return "lost", f"{first}But {why}: there is nothing to go back to, and nobody else can answer"
    if why is not None and (canary is None or canary.state == "failed"):
        first = f"{state.why}; " if state.why else ""
        return "nobody", f"{first}{why}, and so is the new one: see why, and start `teapot serve` again"
    if canary is not None:
        return None
    back = plan.strategy != "replace" or (baseline is not None and baseline.state == "ready")
    return ("removed", "") if back else None


def _told(row: Row) -> str:
    return f"'{row.name}' is {row.state}{f' ({row.problem})' if row.problem else ''}"


def _standing(row: Row) -> str:
    if row.state != "ready":
        return f"it is {row.state}{f' ({row.problem})' if row.problem else ''}"
    return "none of its engines is ready"


def _weights(state: State, plan: Plan, seen: Seen) -> tuple[EventName, str] | None:
    if state.name in ("warming", "shadowing"):
        return None
    ratio = plan.steps[state.step or 0].weight_ratio
    if as_set(seen, plan, ratio):
        return ("moved", "") if state.name == "moving" else None
    if state.name == "moving":
        return None
    told = ", ".join(f"{name} {weight:.3g}" for name, weight in seen.weights.items())
    return "disturbed", f"the weights are not as they were set, {ratio:.3g} for {plan.canary}: {told}"


def _row(row: Mapping[str, Any]) -> Row:
    return Row(
        row["name"],
        row["state"],
        float(row["weight"]),
        row.get("problem"),
        row.get("file", ""),
        row.get("up_in_s"),
        tuple(Engine(b["url"], b["role"], b["state"] == "ready") for b in row["backends"]),
        {mode["kind"]: mode["in_effect"] for mode in row.get("modes", ())},
    )
