"""Which load to try next, on the way to the highest one that meets the objectives.

Owns: the decisions of `load search`, as a pure function of the trials so far. Knows nothing about how
a load is tried, where trials are kept or what a load is: a rate or a number of users.

Doubling from a first load finds a bracket, bisection narrows it, and then both of its ends are tried again
until as many trials as asked for agree. A load that two of three trials miss is missed, whatever the
first one said; the bracket then moves and the search goes on from there. Since the next step follows from
the trials alone, a search that was broken off goes on where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["met", "missed", "invalid"]
"""invalid: no measurement, as when the load generator itself could not keep up."""
Ended = Literal["found", "below lowest", "above highest", "not measurable", "out of trials"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The bounds of a search. `whole`: loads are whole numbers."""

    start: float
    lowest: float
    highest: float
    precision: float = 0.1
    """The bracket is narrow enough when its ends differ by this ratio."""
    agreeing: int = 2
    """Trials that must agree on each end of the final bracket."""
    most_trials: int = 40
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """One load that was tried. `told` says in words what came of it."""

    value: float
    outcome: Outcome
    told: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """Try this load next."""

    value: float
    why: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The highest load that meets the objectives, and the lowest that was found not to; None: none."""

    ended: Ended
    met: float | None
    missed: float | None


def next_step(trials: Sequence[Trial], settings: Settings) -> Probe | Finished:
    """What to do after these trials."""
    bracket = _Bracket.of(trials)
    low, high = bracket.met, bracket.missed
    if len(trials) >= settings.most_trials:
        return Finished("out of trials", low, high)
    if bracket.undecided is not None:
        measured = any(bracket.counts[bracket.undecided])
        return Probe(bracket.undecided, "its trials do not agree" if measured else "it was not measured yet")
    if low is None and high is None:
        return Probe(_rounded(settings.start, settings), "first load")
    if high is None:
        assert low is not None
        if low < settings.highest:
            return Probe(_rounded(min(2 * low, settings.highest), settings), "double")
    elif low is None:
        if high > settings.lowest:
            return Probe(_rounded(max(high / 2, settings.lowest), settings), "halve")
    else:
        middle = _between(low, high, settings)
        if middle is not None:
            return Probe(middle, "bisect")
    for value in (low, high):
        if value is not None and not bracket.settled(value, settings.agreeing):
            return Probe(value, "confirm")
    return Finished(_ended(bracket, low, high), low, high)


def _ended(bracket: _Bracket, low: float | None, high: float | None) -> Ended:
    if high is not None and high in bracket.unmeasured:
        return "not measurable"
    if high is None:
        return "above highest"
    return "below lowest" if low is None else "found"


@dataclass(frozen=True, slots=True)
class _Bracket:
    """What the trials say: the highest load met below the lowest one missed, and what needs another trial."""

    counts: dict[float, tuple[int, int]]
    """Trials met and missed, by load."""
    unmeasured: frozenset[float]
    """Loads at which two trials gave no measurement; they bound the search from above."""
    met: float | None
    missed: float | None
    undecided: float | None

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> _Bracket:
        counts: dict[float, tuple[int, int]] = {}
        unmeasured, undecided = set(), None
        for value in sorted({trial.value for trial in trials}):
            outcomes = [trial.outcome for trial in trials if trial.value == value]
            met, missed, invalid = (outcomes.count(name) for name in ("met", "missed", "invalid"))
            if invalid >= 2 and invalid > met + missed:
                unmeasured.add(value)
                missed = invalid
            counts[value] = met, missed
            if met == missed and undecided is None:
                undecided = value
        bad = min((value for value, (met, missed) in counts.items() if missed > met), default=None)
        good = max(
            (v for v, (met, missed) in counts.items() if met > missed and (bad is None or v < bad)),
            default=None,
        )
        return cls(counts, frozenset(unmeasured), good, bad, undecided)

    def settled(self, value: float, agreeing: int) -> bool:
        """Whether enough trials agree on a load."""
        return max(self.counts[value]) >= agreeing


def _between(low: float, high: float, settings: Settings) -> float | None:
    """The load between, by ratio; None where the bracket is narrow enough."""
    if high / low <= 1 + settings.precision or (settings.whole and high - low <= 1):
        return None
    middle = _rounded(math.sqrt(low * high), settings)
    return middle if low < middle < high else None


def _rounded(value: float, settings: Settings) -> float:
    """A load that people can read: a whole number, or three digits."""
    if settings.whole:
        return float(max(1, round(value)))
    return float(f"{value:.3g}")
