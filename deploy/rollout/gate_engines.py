"""The check of the canary's engines among themselves: one bad engine of several is thinned out by the others.

Owns: how one engine is held against the rest of its revision, and which one is named. Knows nothing about the
baseline. Engines are dealt requests by their load, prefixes or sessions, so only what is certain and worse by
more than a whole gate is said to be an engine's own fault, and nothing less keeps a rollout from passing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from deploy.rollout.evidence import Histogram, Side
from deploy.rollout.finding import Asked, Finding
from deploy.rollout.gate_means import slower
from deploy.rollout.gate_shares import errors, failed_tries
from serving.config.rollout import GatesSection


@dataclass(frozen=True, slots=True)
class _Fault:
    """What one engine can do worse than the others."""

    judge: Callable[[Asked], Finding]
    beyond: Callable[[Mapping[str, float | None], GatesSection], bool]
    words: str


def engines(asked: Asked) -> Finding:
    """No engine of it fails more requests, or is slower, than its other engines by more than the gate."""
    told = asked.evidence.canary.engines
    if len(told) < 2:
        return Finding("NOT JUDGED", "it has one engine that had requests")
    found = list(_outliers(asked))
    numbers = {"engines": float(len(told))}
    if found:
        return Finding("FAIL", "; ".join(found), numbers)
    return Finding("PASS", f"none of its {len(told)} engines stands out", numbers)


def by_engine(asked: Asked, name: str) -> str:
    """Of a check that failed, what each engine did, where there are several; else nothing."""
    told, words = asked.evidence.canary.engines, _TOLD.get(name)
    if len(told) < 2 or words is None:
        return ""
    rows = [(url, words(side)) for url, side in told.items()]
    return "; of its engines " + ", ".join(f"{url} {text}" for url, text in rows if text)


def _outliers(asked: Asked) -> Iterator[str]:
    told = asked.evidence.canary.engines
    look = replace(asked.look, fail_tail=asked.look.fail_tail / len(told), pass_tail=None)
    for url in told:
        pairs = [_apart(url, canary) for canary, _ in asked.evidence.parts]
        mine, rest = _apart(url, asked.evidence.canary)
        evidence = replace(asked.evidence, canary=mine, baseline=rest, concurrent=True, parts=tuple(pairs))
        for fault in _FAULTS:
            found = fault.judge(replace(asked, evidence=evidence, look=look))
            if found.answer == "FAIL" and fault.beyond(found.numbers, asked.gates):
                yield f"{url} {fault.words.format(**found.numbers)}"


def _apart(url: str, side: Side) -> tuple[Side, Side]:
    """One engine, and all others together."""
    others = [engine for name, engine in side.engines.items() if name != url]
    return side.engines.get(url, Side(revision=url)), _together(others)


def _together(sides: Iterable[Side]) -> Side:
    every = tuple(sides)
    requests: dict[str, float] = {}
    for side in every:
        for key, n in side.requests.items():
            requests[key] = requests.get(key, 0.0) + n
    return Side(
        revision="the others",
        requests=requests,
        failed_tries=math.fsum(side.failed_tries for side in every),
        first_byte=_sum(side.first_byte for side in every),
        tpot=_sum(side.tpot for side in every),
    )


def _sum(histograms: Iterable[Histogram | None]) -> Histogram | None:
    told = [histogram for histogram in histograms if histogram is not None]
    if not told or any(histogram.bounds != told[0].bounds for histogram in told):
        return None
    counts = tuple(map(math.fsum, zip(*(histogram.counts for histogram in told), strict=True)))
    return Histogram(told[0].bounds, counts, math.fsum(histogram.total for histogram in told))


def _more(
    limit: Callable[[GatesSection], float],
) -> Callable[[Mapping[str, float | None], GatesSection], bool]:
    def beyond(numbers: Mapping[str, float | None], gates: GatesSection) -> bool:
        hits, n, base_hits, base_n = (numbers[key] or 0.0 for key in _COUNTS)
        return hits / n - base_hits / base_n > limit(gates)

    return beyond


def _longer(
    limit: Callable[[GatesSection], float],
) -> Callable[[Mapping[str, float | None], GatesSection], bool]:
    return lambda numbers, gates: (numbers["factor"] or 0.0) > limit(gates)


_COUNTS = ("hits", "n", "baseline_hits", "baseline_n")
_FAULTS = (
    _Fault(
        errors, _more(lambda gates: gates.errors),
        "failed {hits:.0f} of {n:.0f} requests, the others {baseline_hits:.0f} of {baseline_n:.0f}",
    ),
    _Fault(
        failed_tries, _more(lambda gates: gates.failed_tries),
        "failed {hits:.0f} of {n:.0f} tries, the others {baseline_hits:.0f} of {baseline_n:.0f}",
    ),
    _Fault(
        slower("first_byte", lambda asked: asked.gates.ttft, "s"), _longer(lambda gates: gates.ttft),
        "took {factor:.3g} times the others' time to the first byte: {mean:.3g} s, {baseline_mean:.3g} s",
    ),
    _Fault(
        slower("tpot", lambda asked: asked.gates.tpot, "s"), _longer(lambda gates: gates.tpot),
        "took {factor:.3g} times the others' time for a token: {mean:.3g} s, {baseline_mean:.3g} s",
    ),
)  # fmt: skip
"""As the whole is judged by them, but for when an excess is enough."""


def _mean(histogram: Histogram | None) -> str:
    return f"{histogram.moments().mean:.3g} s of {histogram.n:.0f}" if histogram and histogram.n else ""


_TOLD: Mapping[str, Callable[[Side], str]] = {
    "errors": lambda side: f"{side.ended('upstream_error', 'timeout', 'error')} of {side.n}",
    "failed_tries": lambda side: f"{side.failed_tries:.0f} beside {side.n} requests",
    "ttft": lambda side: _mean(side.first_byte),
    "tpot": lambda side: _mean(side.tpot),
}
