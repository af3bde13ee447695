"""What can be changed about a question: concrete flags, each a new question, with what it risks.

Owns: the changes that are tried and where each makes sense. Knows nothing about what they gain: every change
is asked of the plan anew (`advise`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from serving.facts.formats import KvFormat
from serving.facts.storage import WeightStorage
from serving.planner.ask import Ask
from serving.planner.kv_layers import PLAIN, KvStorage
from serving.planner.plan import Plan
from serving.planner.shape import LatentKv
from serving.planner.weights import Ranks

KV_RISK = {
    "fp8": (1, "low: one scale a tensor; compare answers against bf16, above all at long context"),
    "int8_per_token_head": (1, "low: scales a token and head"),
    "int4_per_token_head": (2, "medium: 4 bits; measure on your own tasks"),
}
WEIGHT_CHOICES = ("fp8_per_block", "fp8", "awq")
MOST_UTILIZATION = 0.95
LEAST_LEN = 1024
STEP = 256
"""Lengths are advised in whole numbers of it."""
NO_RISK = "none to answers"
MORE = (4, 8)
"""Times as many devices that are tried where nothing fits yet; twice is always tried."""


class Change(NamedTuple):
    """Something that can be tried."""

    title: str
    flags: str
    keys: str
    """The same in a deployment file."""
    risk: str
    grade: int
    """0: no risk to answers, 1: low, 2: medium. Ties are broken by it."""
    ask: Ask
    faster: bool = True
    """False: a shorter floor would only come from the shorter context that it is told for."""
    paired: bool = True
    """False: not tried with a second one, for another change does as much or this one frees no memory."""

    def then(self, other: Change) -> Change:
        """Both: `other` was made from the plan of this one."""
        flags = (self.flags, other.flags)
        return Change(
            f"{self.title} and {other.title}",
            " ".join(flags) if all(flag.startswith("--") for flag in flags) else " and ".join(flags),
            f"{self.keys} and {other.keys}",
            _risks(self.risk, other.risk),
            self.grade + other.grade,
            other.ask,
            self.faster and other.faster,
        )


class Choices(NamedTuple):
    """The formats there are to choose from."""

    cache: Mapping[str, KvFormat]
    weights: Mapping[str, WeightStorage]


def _risks(*risks: str) -> str:
    """Those of two changes together: what is none is said only where both are."""
    told = (risk.removeprefix(NO_RISK + "; ") for risk in risks if ";" in risk or not risk.startswith("none"))
    return "; ".join(dict.fromkeys(told)) or risks[0]


Source = Callable[[Plan, Choices], Iterator[Change]]


def _cache_formats(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask = plan.ask
    if ask.cache.values.quantized or ask.cache.latents:
        return
    latent = any(isinstance(layer.kv, LatentKv) for layer in ask.shape.layers)
    for name, (grade, risk) in KV_RISK.items():
        row = choices.cache[name]
        if ask.device in row.devices and not (latent and name not in PLAIN):
            yield Change(
                f"KV cache in {name}",
                f"--kv-cache-dtype {name}",
                f"modes: [{{kind: quantized_kv, format: {name}}}]",
                risk,
                grade,
                replace(ask, cache=KvStorage(name, row)),
                paired=name != "int8_per_token_head",
            )


def _weight_formats(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask = plan.ask
    if ask.weights.layers != "all" or ask.device == "cpu":
        return
    for name in WEIGHT_CHOICES:
        row = choices.weights[name]
        flag = f"--quantization {row.flag}" if row.flag else f"a checkpoint in {name} as --model"
        keys = (
            f"modes: [{{kind: quantized_weights, format: {row.flag}}}]" if row.flag else "model: <its folder>"
        )
        changed = replace(ask, weights=row, checkpoint=None)
        grade = 2 if row.bits < 8 else 1
        yield Change(f"weights in {name}", flag, keys, row.risk, grade, changed, paired=name != "fp8")


def _lengths(plan: Plan, choices: Choices) -> Iterator[Change]:
    """Where a plan does not fit: the longest context that does for the users asked for; or room for the
    requests that are longer than max_model_len.

    A plan that fits gains nothing by a shorter limit: the blocks that a request does not fill are others'.
    """
    ask, users = plan.ask, -(-(plan.ask.users or 1) // plan.ask.ranks.data)
    least = max(LEAST_LEN, ask.lengths.p95_tokens if ask.lengths else 0)
    if plan.fits:
        return
    if least > ask.max_model_len:
        length, risk = -(-least // STEP) * STEP, NO_RISK
    else:
        most = min(ask.max_model_len - 1, ask.shape.max_position)
        length = plan.pool.longest(plan.capacity.blocks, users, most) // STEP * STEP
        risk = f"{NO_RISK}; longer requests are refused"
    if least <= length <= ask.shape.max_position:
        yield Change(
            f"max_model_len {length:,}",
            f"--max-model-len {length}",
            f"engine: {{max_model_len: {length}}}",
            risk,
            0,
            replace(ask, max_model_len=length),
            faster=False,
        )


def _batches(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask, batch = plan.ask, plan.ask.batch
    held = plan.pool.users(plan.capacity.blocks, ask.user_tokens)
    wished = {held} if held > batch.max_num_seqs else set()
    wished |= {batch.max_num_seqs // 4} if batch.max_num_seqs >= 64 and not plan.fits else set()
    for seqs in wished:
        yield Change(
            f"max_num_seqs {seqs:,}",
            f"--max-num-seqs {seqs}",
            f"engine: {{max_num_seqs: {seqs}}}",
            f"{NO_RISK}; more requests a step make each step longer" if seqs > batch.max_num_seqs else "none",
            0,
            replace(ask, max_num_seqs=seqs),
        )
    fewer = batch.max_num_batched_tokens // 4
    if fewer >= 2048:
        yield Change(
            f"max_num_batched_tokens {fewer:,}",
            f"--max-num-batched-tokens {fewer}",
            f"modes: [{{kind: chunked_prefill, max_batched_tokens: {fewer}}}]",
            f"{NO_RISK}; prompts take more steps",
            0,
            replace(ask, max_num_batched_tokens=fewer),
        )


def _utilization(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask = plan.ask
    if ask.kv_cache_bytes is None and plan.budget.utilization < MOST_UTILIZATION:
        yield Change(
            f"gpu_memory_utilization {MOST_UTILIZATION}",
            f"--gpu-memory-utilization {MOST_UTILIZATION}",
            f"engine: {{gpu_memory_utilization: {MOST_UTILIZATION}}}",
            f"{NO_RISK}; less room for anything else on the device",
            0,
            replace(ask, utilization=MOST_UTILIZATION),
        )


def _devices(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask, ranks = plan.ask, plan.ask.ranks
    if ask.device == "cpu":
        return
    spread = {"tensor": ranks._replace(tensor=ranks.tensor * 2), "data": ranks._replace(data=ranks.data * 2)}
    if ranks.tensor > 1 and ranks.tensor % 2 == 0:
        spread["copies"] = Ranks(ranks.tensor // 2, ranks.pipeline, ranks.data * 2, ranks.expert)
    if not plan.fits:
        spread |= {str(times): ranks._replace(tensor=ranks.tensor * times) for times in MORE}
    for changed in spread.values():
        words = f"tensor: {changed.tensor}, pipeline: {changed.pipeline}, data: {changed.data}"
        words += ", expert: true" if changed.expert else ""
        flags = f"--tensor-parallel-size {changed.tensor}"
        flags += f" --data-parallel-size {changed.data}" if changed.data != ranks.data else ""
        yield Change(
            f"{changed.devices} devices as tensor {changed.tensor} x data {changed.data}",
            flags,
            f"modes: [{{kind: parallel, {words}}}]",
            f"{NO_RISK} beyond rounding",
            0,
            replace(ask, ranks=changed),
            paired=changed.data == ranks.data or bool(ask.shape.experts),
        )


SOURCES: tuple[Source, ...] = (_cache_formats, _weight_formats, _batches, _utilization, _devices, _lengths)
"""Lengths come last, for they are worked out from the room that a change before them makes."""
