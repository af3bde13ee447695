"""Evidence about a canary, made by hand in plain numbers, so that what is expected needs no code of ours.

Owns: a good canary beside its baseline, and how to make it worse. Knows nothing about the gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deploy.rollout.evidence import Evidence, Health, Histogram, Quality, Side
from deploy.rollout.finding import Asked
from deploy.rollout.statistics import Look
from serving.config.rollout import GatesSection

SECONDS = (0.1, 0.2, 0.5, 1.0, math.inf)
TOKENS = (10.0, 100.0, 1000.0, math.inf)
LOOK = Look(fail_tail=1e-5, pass_tail=0.005)
EARLY = Look(fail_tail=1e-5, pass_tail=None)
GATES = GatesSection()


def seconds(*counts: float, mean: float) -> Histogram:
    """Latencies, so many by the buckets of `SECONDS`."""
    return Histogram(SECONDS, counts, mean * sum(counts))


def tokens(*counts: float, mean: float) -> Histogram:
    """Lengths, so many by the buckets of `TOKENS`."""
    return Histogram(TOKENS, counts, mean * sum(counts))


def side(n: int, *, revision: str = "new", **other: Any) -> Side:
    """A revision with n requests: 0.1 % failed, 1 % were left, and 5 % took over half a second to begin."""
    failed, left = n // 1000, n // 100
    path = "/v1/chat/completions"
    given: dict[str, Any] = {
        "requests": {f"{path}|ok": n - failed - left, f"{path}|client_gone": left, f"{path}|timeout": failed},
        "judged": {
            "availability|true": n - failed, "availability|false": failed,
            "ttft|true": n * 0.95, "ttft|false": n * 0.05,
        },
        "first_byte": seconds(n * 0.2, n * 0.5, n * 0.25, n * 0.05, 0, mean=0.2),
        "tpot": seconds(n * 0.95, n * 0.05, 0, 0, 0, mean=0.03),
        "finished": {"stop": n * 0.7, "length": n * 0.3},
        "prompt_tokens": tokens(n * 0.1, n * 0.4, n * 0.5, 0, mean=300),
        "asked_tokens": tokens(0, n * 0.5, n * 0.5, 0, mean=200),
        "answer_tokens": tokens(n * 0.1, n * 0.5, n * 0.4, 0, mean=120),
    }  # fmt: skip
    return Side(revision=revision, **{**given, **other})


def healthy(**other: Any) -> Health:
    """Two engines, as they should be."""
    given: dict[str, Any] = {
        "failures": 0.0, "ready": 2, "engines": 2, "modes": {"prefix_cache": True},
        "memory_bytes": {"http://e": (2e9,) * 20},
    }  # fmt: skip
    return Health(**{**given, **other})


def evidence(canary: Side | None = None, baseline: Side | None = None, **other: Any) -> Evidence:
    """A canary of 2,000 requests beside a baseline of 2,000, in ten parts that are all alike."""
    mine = canary or side(2000)
    theirs = baseline or side(2000, revision="old")
    given: dict[str, Any] = {
        "start_s": 1000.0, "end_s": 1600.0, "canary": mine, "baseline": theirs, "concurrent": True,
        "parts": tuple((tenth(mine), tenth(theirs)) for _ in range(10)), "health": healthy(),
        "targets": {"availability": 0.995, "ttft": 0.9}, "quality": Quality("pass"),
    }  # fmt: skip
    return Evidence(**{**given, **other})


def asked(found: Evidence, look: Look = LOOK, **other: Any) -> Asked:
    """A look at it."""
    given: dict[str, Any] = {"gates": GATES, "min_requests": 600, "quality": True}
    return Asked(found, look=look, **{**given, **other})


def tenth(whole: Side) -> Side:
    """A tenth of everything a side did."""

    def numbers(values: Mapping[str, float]) -> dict[str, float]:
        return {key: value / 10 for key, value in values.items()}

    def histogram(told: Histogram | None) -> Histogram | None:
        if told is None:
            return None
        return Histogram(told.bounds, tuple(count / 10 for count in told.counts), told.total / 10)

    return replace(
        whole,
        requests=numbers(whole.requests),
        judged=numbers(whole.judged),
        finished=numbers(whole.finished),
        first_byte=histogram(whole.first_byte),
        tpot=histogram(whole.tpot),
    )
