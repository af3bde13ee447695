"""A lever's A/B as a study: the deployment as it is against the same with the lever, and what came of it.

Owns: the study's document (decision 0011), the load that is sent, and which measure answers which prediction.
Knows nothing about running a study (`verifying`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.diagnose.advice import Ranked
from deploy.diagnose.edit import Fragment
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.predict import KV_TOKENS, OUTPUT, REQUESTS, TPOT, TTFT, Gain
from deploy.diagnose.tried import Trial
from deploy.study.results import Ratio, Summary

CONTROL = "as-it-is"
LOAD = "load"
SECONDS = 60
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """Where a study tells what a gain predicts."""

    measure: str
    workload: str | None
    fewer_is_better: bool = False


# That more requests have room is told by no study: it shows in the rates.
MEASURES: Mapping[str, Measured] = {
    KV_TOKENS: Measured("kv_cache_tokens", None),
    OUTPUT: Measured("output_tokens_per_s", LOAD),
    REQUESTS: Measured("requests_per_s", LOAD),
    TPOT: Measured("tpot_mean_s", LOAD, fewer_is_better=True),
    TTFT: Measured("ttft_mean_s", LOAD, fewer_is_better=True),
}
ALWAYS = (OUTPUT, TPOT, TTFT)
"""Told whether they were predicted or not: a lever may pay on one and cost on another."""


def study_document(
    base: str, arm: str, fragment: Fragment, workload: Mapping[str, Any] | str, *, repeats: int = REPEATS
) -> dict[str, Any]:
    """The study file: two arms, one load. `base` is the deployment file."""
    return {
        "name": f"verify-{arm}",
        "base": base,
        "arms": {CONTROL: {}, arm: dict(fragment)},
        "control": CONTROL,
        "workloads": {LOAD: workload if isinstance(workload, str) else dict(workload)},
        "repeats": repeats,
    }


def load_as_seen(evidence: Evidence, seconds: int = SECONDS) -> dict[str, Any]:
    """A closed loop of as many users as were in the engine or waited, with requests of mean lengths.

    Raises: ValueError where these were not seen.
    """
    lengths = evidence.lengths
    if lengths is None or evidence.running_mean is None:
        raise ValueError("the lengths of requests were not seen")
    users = max(1, round(evidence.running_mean + (evidence.waiting_mean or 0.0)))
    prompt, answer = (max(1, round(length)) for length in lengths)
    return {
        "endpoint": "completions",
        "arrival": {"process": "closed", "concurrency": users, "duration": f"{seconds}s"},
        "warmup": {"requests": users},
        "prompts": {"kind": "random_tokens", "input_tokens": prompt, "output_tokens": answer},
        "sampling": {"temperature": 0.0, "ignore_eos": True},
    }


def trials_of(lever: Ranked, summary: Summary, *, model: str, at: str, study: str) -> Iterator[Trial]:
    """Predicted beside measured, of every measure that was predicted or is always told."""
    predicted = {gain.measure: gain for gain in lever.gains}
    for name in dict.fromkeys((*predicted, *ALWAYS)):
        where = MEASURES.get(name)
        if where is None:
            continue
        ratio = summary.ratio(where.measure, arm=lever.lever.id, workload=where.workload)
        if ratio is not None:
            gain = predicted.get(name)
            yield _trial(name, ratio, where, gain, lever, model=model, at=at, study=study)


def _trial(name: str, ratio: Ratio, where: Measured, gain: Gain | None, lever: Ranked, **told: str) -> Trial:
    value, low, high = ratio.figure.value, ratio.figure.low, ratio.figure.high
    if where.fewer_is_better:
        value, low, high = 1 / value, None if high is None else 1 / high, None if low is None else 1 / low
    return Trial(
        lever=lever.lever.id,
        fragment=lever.fragment or {},
        measure=name,
        predicted_low=gain.low if gain else None,
        predicted_high=gain.high if gain else None,
        measured=value,
        measured_low=low,
        measured_high=high,
        repeats=ratio.figure.n,
        **told,
    )
