"""How many replicas serve a peak although some fail and some are being rolled out.

Owns: the arithmetic of availability and of waiting. Knows nothing about models, devices or what a replica is:
its goodput and its times come in. Capacity is in requests a second that meet the SLO.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 10_000
"""Replicas at which a search gives up."""
ROUNDING = 1e-9
"""A peak of 3 x 0.1 requests a second needs three replicas of 0.1, not four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What is asked of a fleet, and how its replicas behave. Times are means, in seconds."""

    peak_per_s: float
    goodput_per_s: float
    """Of one replica, as measured."""
    between_failures_s: float
    repair_s: float
    """From the failure until requests are answered again."""
    rollout_every_s: float | None = None
    """From the start of one rollout to the start of the next; None: there are none."""
    restart_s: float = 0.0
    """How long one replica is away in a rollout."""
    at_once: int = 1
    """Replicas that a rollout takes at the same time."""
    surge: bool = False
    """A rollout first starts its new replicas beside the old ones, so none is away."""
    together: int = 1
    """Replicas that fail as one: those of one machine."""


@dataclass(frozen=True, slots=True)
class Size:
    """What a number of replicas gives. Shares are of the time."""

    replicas: int
    needed: int
    """Replicas that must answer for the peak to be served."""
    covered: float
    """Share in which the peak can be served whole."""
    covered_in_rollouts: float | None
    """The same within rollouts; None: there are none."""
    in_rollouts: float
    """Share that is spent in rollouts."""
    shed: float
    """Share of requests at the peak that is beyond what answers, on average."""


def needed(fleet: Fleet) -> int:
    """Replicas that serve the peak when all of them answer."""
    return max(1, math.ceil(fleet.peak_per_s / fleet.goodput_per_s - ROUNDING))


def availability(fleet: Fleet) -> float:
    """Share of the time in which one replica answers: an alternating renewal process, so means suffice."""
    return fleet.between_failures_s / (fleet.between_failures_s + fleet.repair_s)


def size(fleet: Fleet, replicas: int) -> Size:
    """What so many replicas give. Rollouts and failures are taken as independent of each other."""
    share = rollout_share(fleet, replicas)
    calm, shed_calm = _state(fleet, replicas)
    if fleet.rollout_every_s is None:
        return Size(replicas, needed(fleet), calm, None, 0.0, shed_calm)
    busy, shed_busy = _state(fleet, replicas - away(fleet, replicas))
    covered = (1 - share) * calm + share * busy
    shed = (1 - share) * shed_calm + share * shed_busy
    return Size(replicas, needed(fleet), covered, busy, share, shed)


def away(fleet: Fleet, replicas: int) -> int:
    """Replicas that a rollout keeps away while it goes on."""
    return 0 if fleet.surge else min(fleet.at_once, replicas)


def rollout_s(fleet: Fleet, replicas: int) -> float:
    """How long one rollout of all replicas takes."""
    return math.ceil(replicas / fleet.at_once) * fleet.restart_s


def rollout_share(fleet: Fleet, replicas: int) -> float:
    """Share of the time that is spent in rollouts; 1 where one is not over when the next is due."""
    if fleet.rollout_every_s is None:
        return 0.0
    return min(1.0, rollout_s(fleet, replicas) / fleet.rollout_every_s)


def candidates(fleet: Fleet) -> Iterator[Size]:
    """Sizes from the fewest that could serve the peak, in whole groups of those that fail as one."""
    step = fleet.together
    for replicas in range(math.ceil(needed(fleet) / step) * step, MOST + 1, step):
        yield size(fleet, replicas)


def smallest(fleet: Fleet, target: float) -> Size | None:
    """The first size that covers the peak in `target` of the time, and within rollouts too; None: none does.

    A rollout is a choice, and is not to be paid out of the allowance for failures: hence both must hold.
    """
    found = (one for one in candidates(fleet) if one.covered >= target and _holds_in_rollouts(one, target))
    return next(found, None)


def _holds_in_rollouts(one: Size, target: float) -> bool:
    return one.covered_in_rollouts is None or one.covered_in_rollouts >= target


def _state(fleet: Fleet, replicas: int) -> tuple[float, float]:
    """P(the peak is covered), and the mean share of it that is not, while so many replicas are to answer.

    Groups that are up are binomial. The last may be a part of one: what a rollout left of it. What is not
    covered is summed, so that 1e-12 is not lost beside 1.
    """
    up = availability(fleet)
    groups, rest = divmod(replicas, fleet.together)
    wanted = needed(fleet)
    covered, shed = [], []
    for whole in range(groups + 1):
        for part, chance in ((0, 1 - up), (rest, up)) if rest else ((0, 1.0),):
            weight = _mass(whole, groups, up) * chance
            answering = whole * fleet.together + part
            beyond = max(0.0, fleet.peak_per_s - answering * fleet.goodput_per_s) / fleet.peak_per_s
            shed.append(weight * (beyond if answering < wanted else 0.0))
            if answering < wanted:
                covered.append(weight)
    return 1.0 - math.fsum(covered), math.fsum(shed)


def _mass(k: int, n: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    logarithm = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logarithm + k * math.log(p) + (n - k) * math.log1p(-p))


def mean_wait_s(servers: int, load: float, service_s: float) -> float:
    """How long a request waits on average, those that do not included; infinite where load is too much."""
    return math.inf if load >= servers else must_wait(servers, load) * service_s / (servers - load)


def must_wait(servers: int, load: float) -> float:
    """Erlang's C: the share of requests that find all `servers` taken, at `load` = arrivals x mean time.

    Poisson arrivals and exponential times (A. K. Erlang, 1917). By the recursion of Erlang's B, which cannot
    overflow: B(0) = 1, B(n) = aB(n-1) / (n + aB(n-1)).
    """
    if load >= servers:
        return 1.0
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))
