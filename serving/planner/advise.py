"""What would make it fit, or hold more, or go faster: concrete flags with predicted effect and quality risk.

Owns: what a change is predicted to do, and the ranking. Knows nothing about the arithmetic: every change is a
new question to `plan`; those that are tried are in `changes`, where a new one goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from serving.errors import UsageError
from serving.facts.overheads import Overheads
from serving.planner.changes import SOURCES, Change, Choices
from serving.planner.plan import Plan, memory_plan, with_decode

WORTH = 1.02
"""A change that gains less than 2 % is not told."""
NO_CHANGE = "no change that is tried makes it fit, nor do two: use more or larger devices, or another model"
MOST_PAIRS = 3
"""Pairs of changes that are told where no single one would do."""
DISCOUNT = (1.0, 1.1, 1.4, 1.7, 2.0)
"""By how much a gain is divided for its risk to answers: an order of ours, not a fact."""


class Advice(NamedTuple):
    """A change and what it is predicted to do."""

    title: str
    flags: str
    keys: str
    risk: str
    fits: bool
    users: int
    users_before: int
    user_tokens: int
    """The length that these users are of."""
    user_tokens_before: int
    kv_tokens: int
    decode_floor_s: float | None
    decode_floor_before_s: float | None
    devices: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        effect = {
            "fits": self.fits,
            "users": self.users,
            "users_before": self.users_before,
            "user_tokens": self.user_tokens,
            "user_tokens_before": self.user_tokens_before,
            "kv_cache_tokens": self.kv_tokens,
            "decode_step_floor_s": self.decode_floor_s,
            "decode_step_floor_before_s": self.decode_floor_before_s,
            "devices": self.devices,
        }
        return {
            "change": self.title,
            "flags": self.flags,
            "deployment": self.keys,
            "effect": effect,
            "quality_risk": self.risk,
            "kind": "fitted",
            "source": "the plan, made again with the change",
        }


def advise(
    plan: Plan, choices: Choices, overheads: Overheads, *, most: int = 8, devices: int | None = None
) -> tuple[Advice, ...]:
    """The changes that help, best first: what makes it fit at the least risk, then what gains most.

    Where a single change makes it fit on more devices only, or none does, pairs that need fewer are tried.
    `devices`: all there are; None: more can be had.
    """
    found = [
        entry
        for source in SOURCES
        for change in source(plan, choices)
        if (entry := _weighed(plan, change, overheads)) and not _too_many(change, devices)
    ]
    fewest = min((advice.devices for _, advice in found if advice.fits), default=None)
    if not plan.fits and fewest != _devices(plan):
        most_devices = devices if fewest is None else fewest - 1
        pairs = sorted(_pairs(plan, choices, overheads, most_devices), key=lambda pair: pair[0])
        told = (_weighed(plan, change, overheads) for _, change in pairs[:MOST_PAIRS])
        found += [entry for entry in told if entry]
    found.sort(key=lambda entry: entry[0])
    return tuple(advice for _, advice in found[:most])


Entry = tuple[tuple[float, ...], Advice]
"""What an advice is sorted by, least first, and the advice."""


def _weighed(plan: Plan, change: Change, overheads: Overheads) -> Entry | None:
    """What a change does; None where it cannot be, or helps too little."""
    try:
        other = with_decode(memory_plan(change.ask, overheads))
    except UsageError:
        return None
    if other.fits < plan.fits or (
        other.fits == plan.fits and _gain(plan, other, faster=change.faster) < WORTH
    ):
        return None
    return _key(plan, other, change), _advice(change, plan, other)


def _key(plan: Plan, other: Plan, change: Change) -> tuple[float, ...]:
    """What a change is sorted by, least first.

    A gain counts per device: twice the devices for twice the users is no lever.
    """
    gained = _gain(plan, other, faster=change.faster)
    worth = gained * _devices(plan) / _devices(other) / DISCOUNT[change.grade]
    if plan.fits:
        return float(_devices(other) > _devices(plan)), -worth
    return -float(other.fits), float(_devices(other)), float(change.grade), -worth


def _pairs(
    plan: Plan, choices: Choices, overheads: Overheads, devices: int | None
) -> Iterator[tuple[tuple[float, ...], Change]]:
    """Two changes of different kinds that fit together, the second made from the plan of the first."""
    for number, source in enumerate(SOURCES):
        for first in source(plan, choices):
            if not first.paired or _too_many(first, devices):
                continue
            between = _memory(first, overheads)
            if between is None or between.fits:
                continue
            for later in SOURCES[number + 1 :]:
                for second in later(between, choices):
                    if not second.paired or _too_many(second, devices):
                        continue
                    made = _memory(second, overheads)
                    if made is not None and made.fits:
                        both = first.then(second)
                        yield _key(plan, made, both), both


def _memory(change: Change, overheads: Overheads) -> Plan | None:
    """The plan of a change without its times; None where it cannot be."""
    try:
        return memory_plan(change.ask, overheads)
    except UsageError:
        return None


def _too_many(change: Change, devices: int | None) -> bool:
    return devices is not None and change.ask.ranks.devices > devices


def _devices(plan: Plan) -> int:
    return plan.ask.ranks.devices


def users_of(plan: Plan) -> int:
    """The users a plan is judged by: at p95 lengths where there is a workload, else at the longest."""
    return plan.users.at_max if plan.users.at_p95 is None else plan.users.at_p95


def _gain(before: Plan, after: Plan, *, faster: bool) -> float:
    """The larger of the gains in users and in decode speed; where nothing fits yet, in users alone."""
    if not before.fits and not after.fits:
        return 1.0
    # Users of half the length are half of them.
    held, holds = (users_of(each) * each.ask.user_tokens for each in (before, after))
    users = holds / held if held else 1.0 + holds
    if not before.fits or before.decode is None or after.decode is None or not faster:
        return users
    return max(users, before.decode.seconds / after.decode.seconds)


def _advice(change: Change, before: Plan, after: Plan) -> Advice:
    return Advice(
        change.title,
        change.flags,
        change.keys,
        change.risk,
        after.fits,
        users_of(after),
        users_of(before),
        after.ask.user_tokens,
        before.ask.user_tokens,
        after.capacity.tokens,
        after.decode.seconds if after.decode and change.faster else None,
        before.decode.seconds if before.decode else None,
        after.ask.ranks.devices,
    )
