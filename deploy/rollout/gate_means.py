"""Checks of means: time to first byte, time per output token, tokens of an answer.

Owns: how a factor between two means is judged. Knows nothing about how histograms were read.

Means are exact whatever the buckets, which a p95 is not; the tail has checks of its own (`gate_tails`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.rollout.evidence import Histogram, Side
from deploy.rollout.finding import FEWEST, MATERIAL, Asked, Finding
from deploy.rollout.statistics import Interval, between_parts, ratio_of_means

_FAR = 100.0


def slower(which: str, limit: Callable[[Asked], float], unit: str) -> Callable[[Asked], Finding]:
    """The mean is not greater by the gate's factor. Under the same load at the same time only."""

    def check(asked: Asked) -> Finding:
        if not asked.concurrent:
            return Finding("NOT JUDGED", "no baseline under the same load at the same time")
        return _judged(asked, _Means(which, limit(asked), unit, spells=True))

    return check


def tokens(asked: Asked) -> Finding:
    """Answers are neither longer nor shorter by the gate's factor."""
    return _judged(asked, _Means("answer_tokens", asked.gates.tokens, "tokens", both_ways=True))


@dataclass(frozen=True, slots=True)
class _Means:
    """A mean on both sides, and the factor that has to be excluded."""

    which: str
    limit: float
    unit: str
    both_ways: bool = False
    spells: bool = False
    """Whether values of one engine are high or low together for a while."""

    def of(self, side: Side) -> Histogram | None:
        """The histogram whose mean it is."""
        found: Histogram | None = getattr(side, self.which)
        return found


def _judged(asked: Asked, means: _Means) -> Finding:
    canary, baseline = means.of(asked.evidence.canary), means.of(asked.baseline)
    sizes = [0.0 if side is None else side.n for side in (canary, baseline)]
    if max(sizes) == 0:
        return Finding("NOT JUDGED", "neither side had any")
    if not asked.concurrent and sizes[1] < FEWEST:
        return Finding("NOT JUDGED", f"only {sizes[1]:g} values of the baseline's before to compare with")
    if canary is None or baseline is None or min(sizes) < FEWEST:
        few = {"n": sizes[0], "baseline_n": sizes[1]}
        return Finding("INCONCLUSIVE", f"{sizes[0]:g} and {sizes[1]:g} values; {FEWEST} are needed", few)
    mine, theirs, limit = canary.moments(), baseline.moments(), means.limit
    numbers: dict[str, float | None] = {
        "mean": mine.mean, "n": mine.n, "baseline_mean": theirs.mean, "baseline_n": theirs.n, "limit": limit,
    }  # fmt: skip
    sure = _interval(asked, means, asked.look.fail_tail)
    if sure is None:
        return Finding("INCONCLUSIVE", "too few looks to tell how much either varies by itself", numbers)
    numbers["factor"] = factor = mine.mean / theirs.mean
    why = f"{mine.mean:.3g} {means.unit} on the mean of {mine.n:g}, {theirs.mean:.3g} of {theirs.n:g}"
    material = 1 + MATERIAL * (limit - 1)
    numbers["factor_at_least"] = sure[0]
    lower = means.both_ways and sure[1] < 1 and factor < 1 / material
    if lower or (sure[0] > 1 and factor > material):
        return Finding("FAIL", f"{why}: {factor:.3g} times the baseline's, by more than chance", numbers)
    if asked.look.pass_tail is None:
        return Finding("INCONCLUSIVE", f"{why}; too early to pass", numbers)
    low, high = _interval(asked, means, asked.look.pass_tail) or sure
    numbers["factor_at_most"] = high
    told = f"{why}: {factor:.3g} times the baseline's, {low:.3g} to {high:.3g}, and the gate is {limit:g}"
    passed = high < limit and (not means.both_ways or low > 1 / limit)
    return Finding("PASS" if passed else "INCONCLUSIVE", told, numbers)


def _interval(asked: Asked, means: _Means, tail: float) -> Interval | None:
    """Of the factor: the wider of what single values and what parts of the window tell."""
    canary, baseline = means.of(asked.evidence.canary), means.of(asked.baseline)
    if canary is None or baseline is None:
        return None
    single = ratio_of_means(canary.moments(), baseline.moments(), tail)
    if not means.spells or single is None:
        return single
    parts = [tuple(map(means.of, pair)) for pair in asked.evidence.parts]
    between = between_parts(parts, _log_factor, tail)
    if between is None:
        return None
    # Of very few parts the interval is so wide that its end is no number any more.
    return min(single[0], math.exp(between[0])), max(single[1], math.exp(min(between[1], _FAR)))


def _log_factor(parts: Sequence[tuple[Histogram | None, ...]]) -> float | None:
    sums = [
        (math.fsum(h.total for h in side if h), math.fsum(h.n for h in side if h))
        for side in zip(*parts, strict=True)
    ]
    if len(sums) < 2 or min(min(pair) for pair in sums) <= 0:
        return None
    (mine, n), (theirs, m) = sums
    return math.log(mine / n / (theirs / m))
