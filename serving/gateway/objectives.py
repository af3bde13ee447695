"""Which objectives a request met: told once, where it is known exactly, and not guessed later from buckets.

Owns: what counts for which objective. Knows nothing about metrics, alerts or where objectives are written.

A request is judged by an objective only if it could have been met or missed by the engine:

- `availability`: every request but those that we or the engine refused as wrong (4xx), and those whose client
  left. A 503 of ours counts as missed: who asked got nothing.
- `ttft`, of streams: from the request's head to the first byte forwarded. A request that ended without one
  missed it only if it had waited longer than that; else it says nothing about speed. So clients that give up
  count, which vLLM's own histograms leave out.
- `tpot`, of streams whose engine said how many tokens they had, from two.
- `e2e`: whole answers, and whatever took longer, however it ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serving.facts.paths import WORKING
from serving.gateway.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """What was promised for each request, in seconds (None: nothing was), and of how many requests."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    latency_target_ratio: float = 0.99
    """The share of requests that are to meet each of them."""
    availability_target_ratio: float = 0.995

    def bounds_s(self) -> tuple[float, ...]:
        """The objectives in seconds, to be bounds of histograms' buckets."""
        return tuple(bound for bound in (self.ttft_s, self.tpot_s, self.e2e_s) if bound)

    def thresholds_s(self) -> dict[str, float]:
        """Each latency objective by name."""
        named = {"ttft": self.ttft_s, "tpot": self.tpot_s, "e2e": self.e2e_s}
        return {name: bound for name, bound in named.items() if bound is not None}

    def targets(self) -> dict[str, float]:
        """The share of requests that are to meet each objective, by its name."""
        latencies = dict.fromkeys(self.thresholds_s(), self.latency_target_ratio)
        return {"availability": self.availability_target_ratio, **latencies}


def judged(outcome: Outcome, objectives: Objectives) -> Iterator[tuple[str, bool]]:
    """Each objective that this request says something about, and whether it was met."""
    if outcome.traffic != "client" or outcome.path not in WORKING:
        return
    available = _available(outcome)
    if available is not None:
        yield "availability", available
    if objectives.ttft_s is not None and outcome.streamed:
        yield from _within("ttft", _first_s(outcome), objectives.ttft_s, _waited_s(outcome))
    if objectives.tpot_s is not None and (tpot_s := _tpot_s(outcome)) is not None:
        yield "tpot", tpot_s <= objectives.tpot_s
    if objectives.e2e_s is not None:
        whole_s = _waited_s(outcome) if outcome.kind == "ok" else None
        yield from _within("e2e", whole_s, objectives.e2e_s, _waited_s(outcome))


def _available(outcome: Outcome) -> bool | None:
    if outcome.kind == "client_gone":
        return None
    if outcome.kind == "rejected":
        return False if (outcome.status or 0) >= 500 else None
    return outcome.kind == "ok"


def _within(name: str, took_s: float | None, bound_s: float, waited_s: float) -> Iterator[tuple[str, bool]]:
    if took_s is not None:
        yield name, took_s <= bound_s
    elif waited_s > bound_s:
        yield name, False


def _waited_s(outcome: Outcome) -> float:
    return (outcome.ended_ns - outcome.accepted_ns) / 1e9


def _first_s(outcome: Outcome) -> float | None:
    if outcome.first_byte_ns is None:
        return None
    return (outcome.first_byte_ns - outcome.accepted_ns) / 1e9


def _tpot_s(outcome: Outcome) -> float | None:
    tokens = outcome.tokens_out
    if not outcome.streamed or tokens is None or tokens < 2:
        return None
    if outcome.first_byte_ns is None or outcome.last_byte_ns is None:
        return None
    return (outcome.last_byte_ns - outcome.first_byte_ns) / 1e9 / (tokens - 1)
