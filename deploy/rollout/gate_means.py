"""Checks of means: time to first byte, time per output token, tokens of an answer.

Owns: how a factor between two means is judged. Knows nothing about how histograms were read.

Means are exact whatever the buckets, which a p95 is not; the tail has checks of its own (`gate_shares.tail`).
"""

from __future__ import annotations

from collections.abc import Callable

from deploy.rollout.finding import MATERIAL, Asked, Finding
from deploy.rollout.statistics import ratio_of_means

FEWEST = 30
"""Values on each side, below which a mean's interval is not believed."""


def slower(which: str, limit: Callable[[Asked], float], unit: str) -> Callable[[Asked], Finding]:
    """The mean is not greater by the gate's factor. Under the same load at the same time only."""

    def check(asked: Asked) -> Finding:
        if not asked.evidence.concurrent:
            return Finding("NOT JUDGED", "no baseline under the same load at the same time")
        return _judged(asked, which, limit(asked), unit, both_ways=False)

    return check


def tokens(asked: Asked) -> Finding:
    """Answers are neither longer nor shorter by the gate's factor."""
    return _judged(asked, "answer_tokens", asked.gates.tokens, "tokens", both_ways=True)


def _judged(asked: Asked, which: str, limit: float, unit: str, *, both_ways: bool) -> Finding:
    canary = getattr(asked.evidence.canary, which)
    baseline = getattr(asked.evidence.baseline, which) if asked.evidence.baseline else None
    sizes = [0.0 if side is None else side.n for side in (canary, baseline)]
    if max(sizes) == 0:
        return Finding("NOT JUDGED", "neither side had any")
    if min(sizes) < FEWEST:
        told = {"n": sizes[0], "baseline_n": sizes[1]}
        return Finding("INCONCLUSIVE", f"{sizes[0]:g} and {sizes[1]:g} values; {FEWEST} are needed", told)
    mine, theirs = canary.moments(), baseline.moments()
    numbers: dict[str, float | None] = {
        "mean": mine.mean, "n": mine.n, "baseline_mean": theirs.mean, "baseline_n": theirs.n, "limit": limit,
    }  # fmt: skip
    sure = ratio_of_means(mine, theirs, asked.look.fail_tail)
    if sure is None:
        return Finding("INCONCLUSIVE", "one side's mean is 0", numbers)
    numbers["factor"] = factor = mine.mean / theirs.mean
    why = f"{mine.mean:.3g} {unit} on the mean of {mine.n:g}, {theirs.mean:.3g} of {theirs.n:g}"
    material = 1 + MATERIAL * (limit - 1)
    numbers["factor_at_least"] = sure[0]
    if (sure[0] > 1 and factor > material) or (both_ways and sure[1] < 1 and factor < 1 / material):
        return Finding("FAIL", f"{why}: {factor:.3g} times the baseline's, by more than chance", numbers)
    if asked.look.pass_tail is None:
        return Finding("INCONCLUSIVE", f"{why}; too early to pass", numbers)
    low, high = ratio_of_means(mine, theirs, asked.look.pass_tail) or sure
    numbers["factor_at_most"] = high
    told = f"{why}: {factor:.3g} times the baseline's, {low:.3g} to {high:.3g}, and the gate is {limit:g}"
    passed = high < limit and (not both_ways or low > 1 / limit)
    return Finding("PASS" if passed else "INCONCLUSIVE", told, numbers)
