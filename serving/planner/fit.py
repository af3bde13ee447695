"""A deployment's plan before it starts: what its modes ask of the planner, and whether this machine can.

Owns: the way from a deployment and a machine to a question, and the words of a refusal. Knows nothing about
engines: they are started, or not, by who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from serving.config.arguments import argument_flags
from serving.config.layout import default_kv_cache_bytes, ranks
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.facts.formats import KvFormat
from serving.facts.hardware import Gpu, find_gpu
from serving.facts.overheads import Overheads
from serving.facts.storage import LatentStorage, WeightStorage, find_storage
from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Device, KvBlock, MachineFacts
from serving.modes.parallel import Parallel
from serving.modes.prefix_cache import PrefixCache
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import QuantizedWeights
from serving.planner.advise import NO_CHANGE, Advice, advise
from serving.planner.ask import Ask
from serving.planner.changes import Choices
from serving.planner.headers import Checkpoint
from serving.planner.kv_layers import KvStorage, kv_storage
from serving.planner.plan import Plan, make_plan
from serving.planner.shape import ModelShape, StateKv
from serving.planner.weights import Ranks
from serving.planner.wide import FLOAT32, widened

LEFT_OUT: Mapping[str, str] = {
    "--block-size": "blocks are planned as the device's default has them",
    "--num-gpu-blocks-override": "blocks are planned from memory",
    "--cpu-offload-gb": "all weights are planned on the device",
}
"""Flags that change what is planned and are not in the arithmetic: what is planned in their place."""


class Facts(NamedTuple):
    """The tables of `serving.facts` that a plan needs."""

    cache: Mapping[str, KvFormat]
    latents: Mapping[str, LatentStorage]
    weights: Mapping[str, WeightStorage]
    gpus: Mapping[str, Gpu]
    overheads: Overheads

    @property
    def choices(self) -> Choices:
        """What there is to choose from."""
        return Choices(self.cache, self.weights)


class Place(NamedTuple):
    """Where the deployment is to run."""

    device: Device
    version: str
    machine: MachineFacts
    gpu: Gpu | None = None
    """The kind of GPU where it is not this machine's."""


class Model(NamedTuple):
    """The model as it lies on the disk, and its draft."""

    shape: ModelShape
    checkpoint: Checkpoint | None = None
    draft: ModelShape | None = None


class Fit(NamedTuple):
    """The answer for one engine of a deployment, and what to do where it does not fit."""

    plan: Plan
    engines: int
    advice: tuple[Advice, ...]
    kv_block: KvBlock | None = None
    """By which a quantized KV cache is proven; None without one, or where layers keep states."""

    @property
    def fits(self) -> bool:
        """Whether every engine starts."""
        return self.plan.fits

    def refusal(self) -> str:
        """Why it does not fit, in numbers."""
        reasons = "; ".join(limit.what for limit in self.plan.limits if limit.blocks)
        each = f" (each of {self.engines} engines)" if self.engines > 1 else ""
        return f"the model does not fit{each}: {reasons}"

    def nearest(self) -> str:
        """What would fit, as keys of the deployment file."""
        found = [advice for advice in self.advice if advice.fits][:3]
        if not found:
            return f"{NO_CHANGE}; or start anyway with --no-plan"
        words = "; or ".join(f"{advice.keys} (risk: {advice.risk.split(':')[0]})" for advice in found)
        return f"what would fit: {words}; or start anyway with --no-plan"


def fit(deployment: Deployment, model: Model, place: Place, facts: Facts) -> Fit:
    """Plan one engine of a deployment on a machine, with the nearest changes that would fit.

    Raises: UsageError where a split or a format is impossible.
    """
    ask, engines = deployment_ask(deployment, model, place, facts)
    plan = make_plan(ask, facts.overheads)
    block = _kv_block(deployment, plan, facts)
    if plan.fits or ask.device != "cpu":
        there = _devices(place, engines, ask.ranks.devices)
        advice = () if plan.fits else advise(plan, facts.choices, facts.overheads, devices=there)
        return Fit(plan, engines, advice, block)
    return Fit(plan, engines, _on_cpu(plan, facts), block)


def deployment_ask(deployment: Deployment, model: Model, place: Place, facts: Facts) -> tuple[Ask, int]:
    """The question of one engine of a deployment, and how many engines there are."""
    engine, machine, device = deployment.engine, place.machine, place.device
    pair = deployment.mode(Disaggregated)
    engines = pair.prefill + pair.decode if pair else deployment.replicas
    flags = {flag: words for _, flag, words in argument_flags(engine.args)}
    notes = tuple(f"{flag} is not part of this plan: {what}" for flag, what in _left_out(flags))
    kv_bytes = engine.kv_cache_memory
    if device == "cpu" and kv_bytes is None:
        kv_bytes = default_kv_cache_bytes(deployment, machine)
    gpu = place.gpu or _gpu(machine, facts)
    cache, chunks = deployment.mode(QuantizedKv), deployment.mode(ChunkedPrefill)
    ask = Ask(
        shape=replace(model.shape, notes=(*model.shape.notes, *notes)) if notes else model.shape,
        weights=_weights(deployment, model.shape, facts),
        cache=kv_storage(cache.format if cache else "auto", facts.cache, facts.latents, device=device),
        device=device,
        version=place.version,
        gpu=gpu,
        memory_bytes=_memory(place, gpu, engines * ranks(deployment)),
        ranks=_ranks(deployment),
        max_model_len=engine.max_model_len or model.shape.served_len,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=chunks.max_batched_tokens if chunks else None,
        utilization=engine.gpu_memory_utilization,
        kv_cache_bytes=kv_bytes,
        graphs="--enforce-eager" not in flags,
        prefix_cache=prefixes.enabled if (prefixes := deployment.mode(PrefixCache)) else True,
        checkpoint=model.checkpoint if _stored(deployment, model.shape) else None,
        draft_shape=model.draft,
        draft_weights=_storage(None, model.draft, facts) if model.draft else None,
        engines=engines,
    )
    if flags.get("--dtype") in FLOAT32:
        ask = widened(ask, facts.weights["fp32"])
    return ask, engines


def _kv_block(deployment: Deployment, plan: Plan, facts: Facts) -> KvBlock | None:
    """What a block takes by the format's own bytes, also where this device is known to store others."""
    mode = deployment.mode(QuantizedKv)
    if mode is None or any(isinstance(layer.kv, StateKv) for layer in plan.ask.shape.layers):
        return None
    stored = (KvStorage(name, facts.cache[name]) for name in (mode.format, "bfloat16"))
    asked, native = (make_plan(replace(plan.ask, cache=each), facts.overheads).pool for each in stored)
    tokens = {min(group.page.block_tokens for group in pool.groups) for pool in (asked, native)}
    return None if len(tokens) > 1 else KvBlock(tokens.pop(), asked.block_bytes, native.block_bytes)


def _on_cpu(plan: Plan, facts: Facts) -> tuple[Advice, ...]:
    """On CPU the cache is given in bytes: the nearest that fits is another number of them."""
    budget, pool, ask = plan.budget, plan.pool, plan.ask
    needed = (pool.blocks(ask.max_model_len) + 1) * pool.block_bytes
    room = budget.total_bytes - budget.weight_bytes
    wished = min(room, max(needed, budget.kv_bytes))
    step = 64 * 1024**2
    wished = wished // step * step if budget.missing_bytes else -(-wished // step) * step
    found = []
    if wished > 0:
        other = make_plan(replace(ask, kv_cache_bytes=wished), facts.overheads)
        keys = f"engine: {{kv_cache_memory: {wished // 1024**2}MiB}}"
        flags = f"--kv-cache-memory-bytes {wished}"
        found.append(
            Advice(
                "KV cache memory",
                flags,
                keys,
                "none to answers",
                other.fits,
                other.users.at_max,
                plan.users.at_max,
                ask.max_model_len,
                ask.max_model_len,
                other.capacity.tokens,
                None,
                None,
                1,
            )
        )
    return (*(a for a in found if a.fits), *advise(plan, facts.choices, facts.overheads))


def _ranks(deployment: Deployment) -> Ranks:
    parallel = deployment.mode(Parallel)
    if parallel is None:
        return Ranks()
    return Ranks(parallel.tensor, parallel.pipeline, parallel.data, parallel.expert)


def _stored(deployment: Deployment, shape: ModelShape) -> bool:
    """Whether weights stay as the checkpoint has them."""
    mode = deployment.mode(QuantizedWeights)
    return mode is None or mode.format in ("checkpoint", shape.quantization)


def _weights(deployment: Deployment, shape: ModelShape, facts: Facts) -> WeightStorage:
    mode = deployment.mode(QuantizedWeights)
    asked = mode.format if mode is not None and not _stored(deployment, shape) else None
    return _storage(asked, shape, facts)


def _storage(asked: str | None, shape: ModelShape, facts: Facts) -> WeightStorage:
    name = asked or shape.quantization or "bf16"
    found = find_storage(name, facts.weights)
    if found is None:
        raise UsageError(f"the bytes of weights in '{name}' are not known", fix="start with --no-plan")
    return replace(found, ignore=shape.ignore)


def _gpu(machine: MachineFacts, facts: Facts) -> Gpu | None:
    if not machine.accelerators:
        return None
    first = machine.accelerators[0]
    known = find_gpu(first.name, facts.gpus)
    if known is None:
        return None
    return replace(known, memory_bytes=first.total_bytes, memory_kind="device")


def _memory(place: Place, gpu: Gpu | None, workers: int) -> int:
    """Of one rank: a device's own total, or an equal share of what the machine has available."""
    if place.device == "cpu":
        return place.machine.memory_available_bytes // workers
    if place.machine.accelerators:
        return min(accelerator.total_bytes for accelerator in place.machine.accelerators)
    if gpu is None:
        raise UsageError("there is no GPU to plan for", where="--gpu", fix="name one, such as --gpu h100-sxm")
    return gpu.memory_bytes


def _devices(place: Place, engines: int, used: int) -> int | None:
    """GPUs that one engine can have: this machine's, or what it has on several; None: others' machines."""
    if place.gpu is not None or not place.machine.accelerators:
        return None
    return max(used, len(place.machine.accelerators) // engines)


def _left_out(flags: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Flags of `engine.args` that change what is planned and are not in the arithmetic."""
    for flag, what in LEFT_OUT.items():
        if flag in flags and flags[flag] not in (("auto",), ("0",)):
            yield flag, what
