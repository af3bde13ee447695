"""The lines of a journal: what is told of each step, and the state that they lead to.

Owns: the shapes of the lines and their replay. Knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from deploy.rollout.evidence import Evidence, Reading
from deploy.rollout.gate import Judgement
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan
from deploy.rollout.queries import COUNTS
from serving.errors import Failed

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Replayed:
    """Where a journal ends."""

    plan: Plan
    state: State
    judgement: Mapping[str, Any] | None
    """The last look, as `Judgement.to_json` told it."""


def begun(plan: Plan, *, at_s: float, vllm: str | None = None) -> dict[str, Any]:
    """The first line: the plan."""
    return {"at": at_s, "kind": "plan", "schema": SCHEMA, "plan": plan.to_json(), "vllm": vllm}


def moved(state: State, event: str) -> dict[str, Any]:
    """A new state, and the event that led to it. It is written before the state's actions are done."""
    return {"at": state.since_s, "kind": "state", "event": event, "state": asdict(state)}


def opened(canary: Reading, baseline: Reading) -> dict[str, Any]:
    """The window of a step is open: what both sides had counted by then."""
    readings = {"canary": canary.to_json(), "baseline": baseline.to_json()}
    return {"at": canary.at_s, "kind": "window", **readings}


def looked(judgement: Judgement, evidence: Evidence, plan: Plan, *, decisive: bool) -> dict[str, Any]:
    """A look: its numbers, its window, and the queries by which a person gets the counts again.

    Evaluate each query at both ends of the window and subtract.
    """
    queries = {
        count.key: [count.promql(plan.deployment, name) for name in (plan.canary, plan.baseline)]
        for count in COUNTS
    }
    told = {"at": evidence.end_s, "kind": "look", "decisive": decisive, **judgement.to_json()}
    return {**told, "queries": queries} if decisive or judgement.verdict == "FAIL" else told


def noted(text: str, *, at_s: float) -> dict[str, Any]:
    """Something worth a line that changes no state: evidence away, a disk that was full."""
    return {"at": at_s, "kind": "note", "text": text}


def replay(lines: Iterable[Mapping[str, Any]]) -> Replayed | None:
    """Where the lines lead; None of none. Raises: Failed where they are no rollout's of this version."""
    plan, state, judgement = None, State(), None
    try:
        for line in lines:
            if line["kind"] == "plan":
                if line["schema"] != SCHEMA:
                    raise _unknown(f"it is of schema {line['schema']}, and this is {SCHEMA}")
                plan = Plan.from_json(line["plan"])
                state = State(since_s=line["at"])
            elif line["kind"] == "state":
                state = State(**line["state"])
            elif line["kind"] == "look":
                judgement = line
    except (KeyError, TypeError, ValueError) as error:
        raise _unknown(f"a line has another shape ({error})") from error
    if plan is None:
        return None
    return Replayed(plan, state, judgement)


def _unknown(what: str) -> Failed:
    return Failed(
        f"the journal cannot be read: {what}",
        fix="go on with the version of teapot that began it, or go back by hand (docs/rollout.md)",
    )
