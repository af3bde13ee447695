"""Checks of shares: of requests that failed, were left, missed an objective, or ended for another reason.

Owns: which share is judged how. Knows nothing about how counts were read.

With a baseline at the same time a share fails by Fisher's exact test and passes by the upper limit of the
difference. Without one it is held against what the baseline had before, by exact binomial limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from deploy.rollout.evidence import Side
from deploy.rollout.finding import FEWEST, MATERIAL, Asked, Finding
from deploy.rollout.statistics import Interval, between_parts, beyond_p, excess_p, most_difference, most_share

Part = tuple[int, int]
"""Hits, and of how many."""


@dataclass(frozen=True, slots=True)
class Shares:
    """A share on both sides. `limit`: the difference that has to be excluded."""

    what: str
    canary: Part
    baseline: Part
    limit: float
    allowed: float | None = None
    """What was promised to be the most: above it no excess is too small to fail."""
    alone: bool = True
    """Whether none at all is what is held against where too little is known of the baseline before."""
    of: Callable[[Side], Part] | None = None
    """Where requests of one engine are slow together: the same of each part of the window."""


def errors(asked: Asked) -> Finding:
    """Requests that the engine failed or that took too long."""
    return _ended(asked, asked.gates.errors, "failed", "upstream_error", "timeout", "error")


def aborts(asked: Asked) -> Finding:
    """Requests whose client left first."""
    return _ended(asked, asked.gates.aborts, "were left by their client", "client_gone", alone=False)


def failed_tries(asked: Asked) -> Finding:
    """Tries that failed before the client got anything, so that another engine had to make them good."""

    def part(side: Side) -> Part:
        failed = round(side.failed_tries)
        return failed, side.n + failed

    return _of_sides(asked, part, asked.gates.failed_tries, "tries had to be made good")


def missed(slo: str) -> Callable[[Asked], Finding]:
    """Requests that missed an objective, of those judged by it."""

    def check(asked: Asked) -> Finding:
        target = asked.evidence.targets.get(slo)
        if target is None:
            return Finding("NOT JUDGED", f"no objective for {slo}")
        allowed = 1 - target

        def part(side: Side) -> Part:
            return side.missed(slo)

        return judged(
            asked,
            Shares(
                f"missed the objective for {slo}",
                part(asked.evidence.canary),
                part(asked.baseline),
                asked.gates.missed,
                allowed,
                of=None if slo == "availability" else part,
            ),
        )

    return check


def finish_reasons(asked: Asked) -> Finding:
    """Why answers ended: of each reason, as much more of it as less of it."""
    canary, baseline = asked.evidence.canary, asked.baseline
    reasons = sorted({*canary.finished, *baseline.finished} - {"abort"})
    if not canary.finished and any(n > 0 for key, n in canary.requests.items() if _is_answer(key)):
        return Finding("INCONCLUSIVE", "it answered requests, and its engines tell nothing of them")
    if not reasons:
        return Finding("NOT JUDGED", "no answer has ended")
    totals = [
        round(math.fsum(side.finished.get(reason, 0) for reason in reasons)) for side in (canary, baseline)
    ]
    findings = []
    for reason in reasons:
        hits = [round(side.finished.get(reason, 0)) for side in (canary, baseline)]
        for what, counts in (
            (f"ended by {reason}", hits),
            (f"ended otherwise than by {reason}", [n - k for n, k in zip(totals, hits, strict=True)]),
        ):
            mine, theirs = zip(counts, totals, strict=True)
            findings.append(
                judged(asked, Shares(what, mine, theirs, asked.gates.finish_reasons, alone=False))
            )
    return worst(findings)


def _is_answer(key: str) -> bool:
    """Whether these requests had an answer of tokens, which engines tell the end of."""
    path, _, outcome = key.partition("|")
    return outcome == "ok" and path != "/v1/embeddings"


def judged(asked: Asked, shares: Shares) -> Finding:
    """The verdict on one share."""
    (hits, n), (base_hits, base_n) = shares.canary, shares.baseline
    if n == 0 and base_n == 0:
        return Finding("NOT JUDGED", f"neither had requests that could have: {shares.what}")
    concurrent = asked.concurrent
    if n == 0 or (base_n == 0 and concurrent):
        return Finding("INCONCLUSIVE", f"one side had no requests that could have: {shares.what}")
    if not (concurrent or shares.alone) and base_n < FEWEST:
        return Finding("NOT JUDGED", f"only {base_n} requests of the baseline's before to compare with")
    share, base = hits / n, base_hits / max(1, base_n)
    numbers: dict[str, float | None] = {
        "hits": hits, "n": n, "baseline_hits": base_hits, "baseline_n": base_n, "limit": shares.limit,
    }  # fmt: skip
    why = f"{_percent(share)} of {n} {shares.what}, {_percent(base)} of {base_n} of the baseline's"
    numbers["p"] = p = _p(shares, concurrent)
    broken = shares.allowed is not None and base <= shares.allowed < share
    spells = shares.of is not None
    sure = p < asked.look.fail_tail and (not spells or _between(asked, shares, asked.look.fail_tail)[0] > 0)
    if sure and (broken or not concurrent or share - base > MATERIAL * shares.limit):
        return Finding("FAIL", f"{why}; by chance with p = {p:.2g}", numbers)
    if asked.look.pass_tail is None:
        return Finding("INCONCLUSIVE", f"{why}; too early to pass", numbers)
    high = _at_most(shares, asked.look.pass_tail, concurrent)
    if spells:
        high = max(high, _between(asked, shares, asked.look.pass_tail)[1])
    numbers["difference_at_most"] = high
    told = f"{why}; at most {_percent(high)} more, and the gate is {_percent(shares.limit)}"
    return Finding("PASS" if high < shares.limit else "INCONCLUSIVE", told, numbers)


def worst(findings: Iterable[Finding]) -> Finding:
    """The finding that decides."""
    order = ("FAIL", "INCONCLUSIVE", "PASS", "NOT JUDGED")
    return min(findings, key=lambda found: order.index(found.answer))


def _between(asked: Asked, shares: Shares, tail: float) -> Interval:
    """The interval of the difference from how much parts of the window differ; everything where unknown."""

    def difference(parts: Sequence[tuple[Part, ...]]) -> float | None:
        (hits, n), (base_hits, base_n) = (
            map(sum, zip(*side, strict=True)) for side in zip(*parts, strict=True)
        )
        if not asked.concurrent:
            return hits / n - _before(shares) if n else None
        return hits / n - base_hits / base_n if n and base_n else None

    of = shares.of
    if of is None or len(asked.evidence.parts) < 2:
        return -1.0, 1.0
    told = [tuple(map(of, pair)) for pair in asked.evidence.parts]
    return between_parts(told, difference, tail) or (-1.0, 1.0)


def _p(shares: Shares, concurrent: bool) -> float:
    if concurrent:
        return excess_p(*shares.canary, *shares.baseline)
    return beyond_p(*shares.canary, min(0.999, _before(shares) + MATERIAL * shares.limit))


def _before(shares: Shares) -> float:
    """What the canary is held against where the baseline gets no requests any more."""
    hits, n = shares.baseline
    return max(hits / n if n >= FEWEST else 0.0, shares.allowed or 0.0)


def _at_most(shares: Shares, chance: float, concurrent: bool) -> float:
    """The most that the canary's share may be above the baseline's."""
    if concurrent:
        return most_difference(*shares.canary, *shares.baseline, chance)
    return most_share(*shares.canary, chance) - _before(shares)


def _ended(asked: Asked, limit: float, what: str, *outcomes: str, alone: bool = True) -> Finding:
    def part(side: Side) -> Part:
        return side.ended(*outcomes), side.n

    return _of_sides(asked, part, limit, f"requests {what}", alone=alone)


def _of_sides(
    asked: Asked, part: Callable[[Side], Part], limit: float, what: str, *, alone: bool = True
) -> Finding:
    mine, theirs = part(asked.evidence.canary), part(asked.baseline)
    return judged(asked, Shares(what, mine, theirs, limit, alone=alone))


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
