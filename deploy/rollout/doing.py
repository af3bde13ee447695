"""What a rollout has done by the serving process, each of it safe to be done twice.

Owns: the requests that an action becomes. Knows nothing about when an action is due, or what follows it.
"""

from __future__ import annotations

import math

from deploy.rollout.client import Admin
from deploy.rollout.machine import Action, State
from deploy.rollout.plan import Plan
from deploy.rollout.seen import Seen, alone, as_set, shares

AGAIN_IN_S = 60
"""What clients are told to wait where nobody knows how long the old engines took to come up."""
END_S = 15.0
"""What engines without requests take to end, at most."""


def unavailable_s(plan: Plan, seen: Seen) -> int:
    """For how long nobody answers while one revision takes the place of another, as far as is known."""
    row = seen.row(plan.baseline)
    known = row.up_in_s if row is not None else None
    return AGAIN_IN_S if known is None else math.ceil(known + END_S)


def do(action: Action, state: State, plan: Plan, seen: Seen, admin: Admin) -> None:
    """Have an action done, unless it is. Raises: Away, Declined."""
    replace = plan.strategy == "replace"
    canary, baseline = seen.row(plan.canary), seen.row(plan.baseline)
    if action.kind == "end_baseline" and state.name == "clearing":
        if canary is None:
            # One request for both: if this process dies now, the new engines are started all the same.
            admin.begin(plan.canary, plan.file, replaces=plan.baseline, again_in_s=unavailable_s(plan, seen))
    elif action.kind == "end_baseline":
        if baseline is not None and baseline.state != "leaving":
            admin.end(plan.baseline, cut=False)
    elif action.kind == "start_canary":
        if canary is None and not replace:
            admin.begin(plan.canary, plan.file)
    elif action.kind == "shadow_on":
        admin.shadow(plan.canary, 1.0)
    elif action.kind == "shadow_off":
        if canary is not None:
            admin.shadow(plan.canary, 0.0)
    elif action.kind == "set_weights":
        # Going back with nothing to go back to, somebody has to answer.
        ratio = action.weight_ratio or (1.0 if alone(plan, seen) else 0.0)
        there = baseline is not None and baseline.state == "ready"
        if (ratio > 0 or there) and not as_set(seen, plan, ratio):
            admin.weigh(shares(seen, plan, ratio))
    elif action.kind == "end_canary":
        if canary is None or canary.state == "leaving" or (replace and baseline is None):
            return
        # The last that can answer stays until another can, bad as it may be.
        if not canary.answers or (baseline is not None and baseline.answers):
            admin.end(plan.canary, cut=plan.on_rollback == "cut")
    elif action.kind == "start_baseline" and baseline is None:
        replaces = plan.canary if canary is not None and canary.state != "failed" else None
        admin.begin(plan.baseline, plan.baseline_file, replaces=replaces, again_in_s=AGAIN_IN_S)
