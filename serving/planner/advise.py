"""What would make it fit, or hold more, or go faster: concrete flags with predicted effect and quality risk.

Owns: the changes that are tried, and their ranking. Knows nothing about the arithmetic: every change is a new
question to `plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from serving.errors import UsageError
from serving.facts.formats import KvFormat
from serving.facts.overheads import Overheads
from serving.facts.storage import WeightStorage
from serving.planner.ask import Ask
from serving.planner.kv_layers import PLAIN, KvStorage
from serving.planner.plan import Plan, make_plan
from serving.planner.shape import LatentKv
from serving.planner.weights import Ranks

WORTH = 1.02
"""A change that gains less than 2 % is not told."""
KV_RISK = {
    "fp8": (1, "low: one scale a tensor; compare answers against bf16, above all at long context"),
    "int8_per_token_head": (1, "low: scales a token and head"),
    "int4_per_token_head": (2, "medium: 4 bits; measure on your own tasks"),
}
WEIGHT_CHOICES = ("fp8_per_block", "fp8", "awq")
MOST_UTILIZATION = 0.95
LEAST_LEN = 1024
MORE = (4, 8)
"""Times as many devices that are tried where nothing fits yet; twice is always tried."""
DISCOUNT = (1.0, 1.1, 1.4)
"""By how much a gain is divided for its risk to answers: an order of ours, not a fact."""


@dataclass(frozen=True, slots=True)
class Change:
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


@dataclass(frozen=True, slots=True)
class Advice:
    """A change and what it is predicted to do."""

    title: str
    flags: str
    keys: str
    risk: str
    fits: bool
    users: int
    users_before: int
    kv_tokens: int
    decode_floor_s: float | None
    decode_floor_before_s: float | None
    devices: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        effect = {
            "fits": self.fits,
            "users": self.users,
            "users_before": self.users_before,
            "kv_cache_tokens": self.kv_tokens,
            "decode_step_floor_s": self.decode_floor_s,
            "decode_step_floor_before_s": self.decode_floor_before_s,
            "devices": self.devices,
        }
        return {
            "change": self.title,
            "flags": self.flags,
            "deployment": self.keys,
            "effect": effect,
            "quality_risk": self.risk,
            "kind": "fitted",
            "source": "the plan, made again with the change",
        }


@dataclass(frozen=True, slots=True)
class Choices:
    """The formats there are to choose from."""

    cache: Mapping[str, KvFormat]
    weights: Mapping[str, WeightStorage]


def advise(plan: Plan, choices: Choices, overheads: Overheads, *, most: int = 8) -> tuple[Advice, ...]:
    """The changes that help, best first: what makes it fit at the least risk, then what gains most."""
    found: list[tuple[tuple[float, ...], Advice]] = []
    for change in _changes(plan, choices):
        try:
            other = make_plan(replace(change.ask, drafting=None), overheads)
        except UsageError:
            continue
        gained = _gain(plan, other, faster=change.faster)
        if other.fits < plan.fits or (other.fits == plan.fits and gained < WORTH):
            continue
        devices = other.ask.ranks.devices
        # A gain counts per device: twice the devices for twice the users is no lever.
        worth = gained * plan.ask.ranks.devices / devices / DISCOUNT[change.grade]
        safest = 0 if plan.fits else change.grade
        key = (-float(other.fits), float(devices > plan.ask.ranks.devices), safest, -worth)
        found.append((key, _advice(change, plan, other)))
    found.sort(key=lambda entry: entry[0])
    return tuple(advice for _, advice in found[:most])


def users_of(plan: Plan) -> int:
    """The users a plan is judged by: at p95 lengths where there is a workload, else at the longest."""
    return plan.users.at_max if plan.users.at_p95 is None else plan.users.at_p95


def _gain(before: Plan, after: Plan, *, faster: bool) -> float:
    """The larger of the gains in users and in decode speed; where nothing fits yet, in bytes that are
    missing."""
    if not before.fits and not after.fits:
        return 1.0
    held = before.users.at_p95 if before.users.at_p95 is not None else before.users.at_max
    users = users_of(after) / held if held else float(users_of(after) > 0) * 2
    if before.decode is None or after.decode is None or not faster:
        return users
    return max(users, before.decode.seconds / after.decode.seconds)


def _advice(change: Change, before: Plan, after: Plan) -> Advice:
    return Advice(
        change.title,
        change.flags,
        change.keys,
        change.risk,
        after.fits,
        users_of(after),
        users_of(before),
        after.capacity.tokens,
        after.decode.seconds if after.decode and change.faster else None,
        before.decode.seconds if before.decode else None,
        after.ask.ranks.devices,
    )


def _changes(plan: Plan, choices: Choices) -> Iterator[Change]:
    sources: tuple[Callable[[Plan, Choices], Iterator[Change]], ...] = (
        _cache_formats,
        _weight_formats,
        _lengths,
        _batches,
        _utilization,
        _devices,
    )
    for source in sources:
        yield from source(plan, choices)


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
        yield Change(f"weights in {name}", flag, keys, row.risk, 2 if row.bits < 8 else 1, changed)


def _lengths(plan: Plan, choices: Choices) -> Iterator[Change]:
    """The longest context that fits for the users asked for, or half of what is asked."""
    ask, users = plan.ask, -(-(plan.ask.users or 1) // plan.ask.ranks.data)
    longest = plan.pool.longest(plan.capacity.blocks, users, ask.max_model_len)
    half = ask.max_model_len // 2
    for length in dict.fromkeys((longest // 256 * 256 or longest, half)):
        # With a workload its lengths count; a shorter limit then helps only an engine that cannot start.
        wanted = ask.lengths is None or (not plan.fits and length >= ask.lengths.p95_tokens)
        if LEAST_LEN <= length < ask.max_model_len and wanted:
            yield Change(
                f"max_model_len {length:,}",
                f"--max-model-len {length}",
                f"engine: {{max_model_len: {length}}}",
                "none to answers; longer requests are refused",
                0,
                replace(ask, max_model_len=length),
                faster=False,
            )


def _batches(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask, batch = plan.ask, plan.ask.batch
    tokens = ask.lengths.p95_tokens if ask.lengths else ask.max_model_len
    held = plan.pool.users(plan.capacity.blocks, tokens)
    wished = {held} if held > batch.max_num_seqs else set()
    wished |= {batch.max_num_seqs // 4} if batch.max_num_seqs >= 64 and not plan.fits else set()
    for seqs in wished:
        yield Change(
            f"max_num_seqs {seqs:,}",
            f"--max-num-seqs {seqs}",
            f"engine: {{max_num_seqs: {seqs}}}",
            "none to answers; more requests a step make each step longer"
            if seqs > batch.max_num_seqs
            else "none",
            0,
            replace(ask, max_num_seqs=seqs),
        )
    fewer = batch.max_num_batched_tokens // 4
    if fewer >= 2048:
        yield Change(
            f"max_num_batched_tokens {fewer:,}",
            f"--max-num-batched-tokens {fewer}",
            f"engine: {{args: {{max-num-batched-tokens: {fewer}}}}}",
            "none to answers; prompts take more steps",
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
            "none to answers; less room for anything else on the device",
            0,
            replace(ask, utilization=MOST_UTILIZATION),
        )


def _devices(plan: Plan, choices: Choices) -> Iterator[Change]:
    ask, ranks = plan.ask, plan.ask.ranks
    if ask.device == "cpu":
        return
    spread = {"tensor": replace(ranks, tensor=ranks.tensor * 2), "data": replace(ranks, data=ranks.data * 2)}
    if ranks.tensor > 1 and ranks.tensor % 2 == 0:
        spread["copies"] = Ranks(ranks.tensor // 2, ranks.pipeline, ranks.data * 2, ranks.expert)
    if not plan.fits:
        spread |= {str(times): replace(ranks, tensor=ranks.tensor * times) for times in MORE}
    for changed in spread.values():
        words = f"tensor: {changed.tensor}, pipeline: {changed.pipeline}, data: {changed.data}"
        flags = f"--tensor-parallel-size {changed.tensor}"
        flags += f" --data-parallel-size {changed.data}" if changed.data > 1 else ""
        yield Change(
            f"{changed.devices} devices as tensor {changed.tensor} x data {changed.data}",
            flags,
            f"modes: [{{kind: parallel, {words}}}]",
            "none to answers beyond rounding",
            0,
            replace(ask, ranks=changed),
        )
