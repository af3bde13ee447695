"""Checks of the tails of latencies, at a bucket's bound, with both p95s beside for people.

Owns: where a tail begins, and what is told of it. Knows nothing about how a share is judged (`gate_shares`).

At a bound shares are exact, where a quantile is a guess between two bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from deploy.rollout.evidence import Histogram, Side
from deploy.rollout.finding import Asked, Finding
from deploy.rollout.gate_shares import Part, Shares, judged
from deploy.rollout.statistics import ratio_of_limits

_TAIL = 0.05
"""The tail of latencies: what about this share of requests is slower than."""
_EACH_END = 0.025
"""What an interval that is told to people leaves out at each end."""


def tail(which: str) -> Callable[[Asked], Finding]:
    """Requests slower than a bucket's bound above which about 5 % of both sides' lie.

    The bound is chosen by both sides together, so the choice favours neither.
    """

    def check(asked: Asked) -> Finding:
        if not asked.concurrent:
            return Finding("NOT JUDGED", "no baseline under the same load at the same time")
        canary, baseline = getattr(asked.evidence.canary, which), getattr(asked.baseline, which)
        if canary is None or baseline is None or canary.bounds != baseline.bounds:
            return _absent(canary, baseline)
        bound = _tail_bound(canary, baseline)

        def part(side: Side) -> Part:
            told = getattr(side, which)
            return (0, 0) if told is None else (round(told.above(bound)), round(told.n))

        both = part(asked.evidence.canary), part(asked.baseline)
        found = judged(asked, Shares(f"took over {bound:g} s", *both, limit=asked.gates.tail, of=part))
        return _with_p95(found, canary, baseline)

    return check


def _with_p95(found: Finding, canary: Histogram, baseline: Histogram) -> Finding:
    """The same with both p95s and their ratio, for people: what lies between two bounds decides nothing."""
    sides = [told.around_quantile(0.95, _EACH_END) for told in (canary, baseline)]
    numbers: dict[str, float | None] = {
        "p95_s": canary.quantile(0.95),
        "baseline_p95_s": baseline.quantile(0.95),
    }
    mine, theirs = sides
    if mine is None or theirs is None or min(mine[0], theirs[0]) <= 0:
        return replace(found, numbers={**found.numbers, **numbers})
    low, factor, high = ratio_of_limits(mine, theirs)
    numbers |= {"p95_factor": factor, "p95_factor_at_least": low, "p95_factor_at_most": high}
    why = f"{found.why}; p95 {mine[1]:.3g} s, {factor:.3g} times the baseline's ({low:.3g} to {high:.3g})"
    return replace(found, why=why, numbers={**found.numbers, **numbers})


def _tail_bound(canary: Histogram, baseline: Histogram) -> float:
    """Where the share that is slower is nearest to `_TAIL`, as a factor."""
    n = canary.n + baseline.n
    slower = {bound: canary.above(bound) + baseline.above(bound) for bound in canary.bounds[:-1]}
    far = {bound: abs(math.log(hits / n / _TAIL)) for bound, hits in slower.items() if hits > 0}
    return min(far, key=lambda bound: far[bound], default=canary.bounds[0])


def _absent(canary: Histogram | None, baseline: Histogram | None) -> Finding:
    if canary is None and baseline is None:
        return Finding("NOT JUDGED", "nobody told it of either side")
    return Finding("INCONCLUSIVE", "it was told of one side only, or by other buckets")
