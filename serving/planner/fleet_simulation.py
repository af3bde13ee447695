"""A fleet lived through: replicas fail and come back while rollouts go on, for as many years as asked.

Owns: the course of events, and what is counted of it. Knows nothing about the closed forms (`fleet`), which
are held against it. Randomness comes in.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from serving.planner.fleet import Fleet, needed

YEAR_S = 365.25 * 86400


@dataclass(frozen=True, slots=True)
class Lived:
    """What happened."""

    years: float
    covered: float
    """Share of the time in which the peak could be served whole."""
    shed: float
    """Share of requests at the peak that was beyond what answered, on average."""
    shortfalls: int
    """Times at which it began that the peak could not be served."""
    longest_s: float
    """The longest of them; 0 where there was none."""


def live(fleet: Fleet, replicas: int, years: float, random: Random) -> Lived:
    """Times to a failure and of a repair are exponential; rollouts are as regular as a clock.

    A rollout takes replicas in their order, whether they are up or not, and does not mend them.
    """
    end_s = years * YEAR_S
    state = _Replicas(fleet, replicas)
    count = _Count(fleet)
    flips = [(random.expovariate(1 / fleet.between_failures_s), group) for group in range(state.groups)]
    heapq.heapify(flips)
    batches = _batches(fleet, replicas, end_s)
    upcoming = next(batches, None)
    now = 0.0
    while now < end_s:
        at = min(flips[0][0], upcoming[0] if upcoming else math.inf, end_s)
        count.pass_time(at - now, state.answering)
        now = at
        if upcoming and upcoming[0] == at:
            state.take_away(upcoming[1])
            upcoming = next(batches, None)
        elif flips[0][0] == at:
            _, group = flips[0]
            up = state.flip(group)
            mean_s = fleet.between_failures_s if up else fleet.repair_s
            heapq.heapreplace(flips, (at + random.expovariate(1 / mean_s), group))
    return count.lived(years, end_s)


class _Replicas:
    """Which groups are up and which replicas are away."""

    def __init__(self, fleet: Fleet, replicas: int) -> None:
        self.groups = math.ceil(replicas / fleet.together)
        self._group = [replica // fleet.together for replica in range(replicas)]
        self._members = Counter(self._group)
        self._up = [True] * self.groups
        self._away = range(0)
        self.answering = replicas

    def flip(self, group: int) -> bool:
        """Break a group that is up, or mend it; whether it is up now."""
        self._up[group] = not self._up[group]
        here = self._members[group] - sum(self._group[replica] == group for replica in self._away)
        self.answering += here if self._up[group] else -here
        return self._up[group]

    def take_away(self, replicas: range) -> None:
        """These are away from now on, and those before are back."""
        self.answering += sum(self._up[self._group[replica]] for replica in self._away)
        self.answering -= sum(self._up[self._group[replica]] for replica in replicas)
        self._away = replicas


class _Count:
    """Time in which the peak is covered or not."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet, self._needed = fleet, needed(fleet)
        self._covered_s = self._shed_s = self._short_s = self._longest_s = 0.0
        self._shortfalls = 0

    def pass_time(self, seconds: float, answering: int) -> None:
        if answering >= self._needed:
            self._covered_s += seconds
            # Changes at one moment are steps without time; only a covered spell ends a shortfall.
            self._short_s = 0.0 if seconds else self._short_s
            return
        if seconds and not self._short_s:
            self._shortfalls += 1
        self._short_s += seconds
        self._longest_s = max(self._longest_s, self._short_s)
        beyond = 1 - answering * self._fleet.goodput_per_s / self._fleet.peak_per_s
        self._shed_s += seconds * max(0.0, beyond)

    def lived(self, years: float, end_s: float) -> Lived:
        return Lived(years, self._covered_s / end_s, self._shed_s / end_s, self._shortfalls, self._longest_s)


def _batches(fleet: Fleet, replicas: int, end_s: float) -> Iterator[tuple[float, range]]:
    """When which replicas are away, one rollout after the other; an empty range: none any more."""
    if fleet.rollout_every_s is None or fleet.surge or not fleet.restart_s:
        return
    due = free = 0.0
    while due < end_s:
        start = max(due, free)
        for first in range(0, replicas, fleet.at_once):
            yield start, range(first, min(first + fleet.at_once, replicas))
            start += fleet.restart_s
        yield start, range(0)
        free = start
        due += fleet.rollout_every_s
