"""Checks that come before any comparison: are there enough requests, and are both sides asked the same.

Owns: these rules. Knows nothing about how well requests were answered.

The mix is what clients send: paths, prompts' lengths, and the longest answers asked for. How long answers are
is the engines' doing and judged as such.
"""

from __future__ import annotations

import math

from deploy.rollout.evidence import Histogram, Side
from deploy.rollout.finding import Asked, Finding
from deploy.rollout.statistics import distance, distance_by_chance
from serving.config.units import format_duration

BY_CHANCE = 0.001
MATERIAL_DISTANCE = 0.1
"""Mixes differ where a length, or a path, has a tenth of the requests more on one side."""


def requests(asked: Asked) -> Finding:
    """The canary had as many requests as the rollout wants of each step, and the baseline had some."""
    n, base, wanted = asked.evidence.canary.n, asked.baseline.n, max(1, asked.min_requests)
    numbers = {
        "n": float(n),
        "min_requests": float(wanted),
        "baseline_n": float(base),
    }
    if n < wanted:
        rest_s = (wanted - n) * (asked.evidence.end_s - asked.evidence.start_s) / n if n else None
        when = "" if rest_s is None else f"; at this rate the rest takes {format_duration(math.ceil(rest_s))}"
        return Finding("INCONCLUSIVE", f"{n} requests of {wanted} that are needed{when}", numbers)
    if asked.concurrent and base == 0:
        return Finding("INCONCLUSIVE", "the baseline had no request at the same time", numbers)
    return Finding("PASS", f"{n} requests, {wanted} are needed", numbers)


def mix(asked: Asked) -> Finding:
    """Both sides were asked for the same kinds of things."""
    canary, baseline = asked.evidence.canary, asked.baseline
    if baseline.n == 0 and not asked.concurrent:
        return Finding("NOT JUDGED", "the baseline had no requests before to compare with")
    if canary.n == 0 or baseline.n == 0:
        return Finding("INCONCLUSIVE", "one side had no requests")
    for what, mine, theirs in (
        ("paths", *_paths(canary, baseline)),
        ("lengths of prompts", *_same_bounds(canary.prompt_tokens, baseline.prompt_tokens)),
        ("longest answers asked for", *_same_bounds(canary.asked_tokens, baseline.asked_tokens)),
    ):
        n, m = sum(mine), sum(theirs)
        if n == 0 or m == 0:
            continue
        apart, by_chance = distance(mine, theirs), distance_by_chance(n, m, BY_CHANCE)
        numbers = {"distance": apart, "by_chance": by_chance, "n": n, "baseline_n": m}
        if apart > max(MATERIAL_DISTANCE, by_chance):
            why = f"its {what} differ from the baseline's (distance {apart:.2g}), so they cannot be compared"
            return Finding("INCONCLUSIVE" if asked.concurrent else "NOT JUDGED", why, numbers)
    return Finding("PASS", "both sides were asked for the same kinds of things")


def differs(found: Finding) -> bool:
    """Whether the mix was found to differ, so that comparisons say nothing."""
    return "distance" in found.numbers


def _paths(canary: Side, baseline: Side) -> tuple[list[float], list[float]]:
    paths = sorted({key.partition("|")[0] for side in (canary, baseline) for key in side.requests})
    mine, theirs = (
        [sum(n for key, n in side.requests.items() if key.partition("|")[0] == path) for path in paths]
        for side in (canary, baseline)
    )
    return mine, theirs


def _same_bounds(first: Histogram | None, second: Histogram | None) -> tuple[list[float], list[float]]:
    if first is None or second is None or first.bounds != second.bounds:
        return [], []
    return list(first.counts), list(second.counts)
