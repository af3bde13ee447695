"""The levers on what binds, in their order, with what each should gain and why it is not first.

Owns: the ranking. Knows nothing about the rows of the table (`levers`), the arithmetic (`predict`) or files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deploy.diagnose.edit import Fragment
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import DRAFTS, LEVERS, Lever, Seen
from deploy.diagnose.predict import KV_TOKENS, REQUESTS, TTFT, USERS, Gain, drafted, effects, room
from deploy.diagnose.rules import Bound
from serving.errors import UsageError
from serving.planner.plan import Plan

WORTH = 1.05
"""A change that gains less than 5 % at best is not worth its try."""
Replan = Callable[[Fragment], Plan]
"""The plan made again with a fragment. Raises: UsageError where that cannot be."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A lever in its place."""

    lever: Lever
    fragment: Fragment | None
    gains: tuple[Gain, ...]
    why_not_first: str | None
    """None for the one that comes first."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A deployment as the planner sees it, and how it is planned with a change."""

    plan: Plan
    replan: Replan
    lost: Mapping[str, str] = field(default_factory=dict)
    """Levers that lost where they were measured with this model, by id, with the words of it."""


def ranked(bound: Bound, seen: Seen, planned: Planned | None = None) -> list[Ranked]:
    """The levers on what binds, in the guide's order: what is ready before what is not."""
    seen = replace(seen, bound=bound, best_drafts=_best_drafts(seen, planned))
    fitting = [_judged(lever, seen, planned) for lever in LEVERS if bound in lever.helps]
    in_order = sorted(fitting, key=lambda each: each.why_not_first is not None)
    found: list[Ranked] = []
    for number, each in enumerate(in_order):
        why = each.why_not_first
        if why is None and number > 0:
            why = _behind(in_order[0].lever, each.lever)
        found.append(replace(each, why_not_first=why))
    return found


def _behind(first: Lever, lever: Lever) -> str:
    if first.risk.startswith("none") and not lever.risk.startswith("none"):
        return f"'{first.title}' puts no answer at risk"
    return f"the guide puts '{first.title}' before it"


def elsewhere(bound: Bound) -> list[tuple[Lever, str]]:
    """The levers that act on something else, and on what."""
    return [(lever, ", ".join(sorted(lever.helps))) for lever in LEVERS if bound not in lever.helps]


def _judged(lever: Lever, seen: Seen, planned: Planned | None) -> Ranked:
    fragment, why = lever.fragment(seen), lever.not_yet(seen)
    gains: tuple[Gain, ...] = ()
    if why is None and planned is not None and fragment is not None:
        gains, why = _gains(lever, fragment, seen, planned)
        why = planned.lost.get(lever.id, why)
    return Ranked(lever, fragment, gains, why)


def _gains(
    lever: Lever, fragment: Fragment, seen: Seen, planned: Planned
) -> tuple[tuple[Gain, ...], str | None]:
    try:
        plan = planned.replan(fragment)
    except UsageError as error:
        return (), f"it cannot be had here: {error.problems[0].what}"
    if planned.plan.fits and not plan.fits:
        return (), "it does not fit: " + "; ".join(limit.what for limit in plan.limits if limit.blocks)
    if lever.id == "seats" and room(plan, seen.evidence) == room(planned.plan, seen.evidence):
        return (), f"the KV cache holds no more than {room(plan, seen.evidence)} such requests"
    gain = _twice(lever) or _of_drafts(lever, seen, planned.plan)
    gains = (gain,) if gain is not None else effects(planned.plan, plan, seen.evidence)
    return gains, _not_worth(gains, seen.bound)


def _not_worth(gains: Sequence[Gain], bound: Bound | None) -> str | None:
    """By what acts on what binds: tokens of cache are worth something where it is full, and TTFT follows."""
    beside = {TTFT} if bound is Bound.KV_CAPACITY else {TTFT, KV_TOKENS, USERS}
    judged = [gain for gain in gains if gain.measure not in beside]
    if not judged or any(gain.high >= WORTH for gain in judged):
        return None
    return f"it is predicted to gain too little: {judged[0].low:.2f}x to {judged[0].high:.2f}x"


def _twice(lever: Lever) -> Gain | None:
    """More engines: each of them stays as it is."""
    return (
        Gain(REQUESTS, 1.0, 2.0, "twice the engines, on twice the devices")
        if lever.id == "replicas"
        else None
    )


def _of_drafts(lever: Lever, seen: Seen, plan: Plan) -> Gain | None:
    e = seen.evidence
    if lever.id == "speculation" and seen.acceptance is not None:
        alike = tuple(seen.acceptance ** (position + 1) for position in range(DRAFTS))
        return drafted(plan, e, now=0, then=DRAFTS, accepted=alike)
    if lever.id == "drafts" and seen.best_drafts and e.speculated is not None:
        positions = e.speculated.positions
        return drafted(plan, e, now=len(positions), then=seen.best_drafts, accepted=positions)
    return None


def _best_drafts(seen: Seen, planned: Planned | None) -> int | None:
    """The number of drafted tokens with the best lower bound, among those whose acceptance was measured."""
    e: Evidence = seen.evidence
    if planned is None or e.speculated is None or not e.speculated.positions:
        return None
    now, positions = len(e.speculated.positions), e.speculated.positions
    best, gained = now, 1.0
    for then in range(now):
        gain = drafted(planned.plan, e, now=now, then=then, accepted=positions)
        if gain is None:
            return None
        if gain.low > max(gained, WORTH):
            best, gained = then, gain.low
    return best
