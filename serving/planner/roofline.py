"""The fastest that a step can be: bytes over bandwidth, or operations over peak rate, whichever is longer.

Owns: floors of a decode step and of a prefill. Knows nothing about what is reached in practice: a floor is
never a promise, and never a percentile. Not run on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from serving.facts.hardware import Gpu
from serving.facts.storage import WeightStorage
from serving.planner.kv_layers import KvStorage, kv_bytes
from serving.planner.shape import AttentionKv, LatentKv, Layer, ModelShape
from serving.planner.weights import Ranks, read_bytes


@dataclass(frozen=True, slots=True)
class Speed:
    """A model as it is served: shape, storage of weights and cache, devices."""

    shape: ModelShape
    weights: WeightStorage
    cache: KvStorage
    gpu: Gpu
    ranks: Ranks = field(default_factory=Ranks)

    @property
    def peak_flops(self) -> float:
        """Of one device, in the type that the weights are multiplied in."""
        # A device older than the format widens it, and multiplies 16 bits.
        older = bool(self.gpu.capability) and (self.gpu.capability or 0) < self.weights.native_capability
        if self.weights.compute == "bf16" or older:
            return self.gpu.bf16_flops
        return self.gpu.fp8_flops or self.gpu.bf16_flops


class Floor(NamedTuple):
    """A lower bound of a step's time and what binds it."""

    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The bound."""
        return max(self.memory_s, self.compute_s)

    @property
    def bound(self) -> str:
        """`memory` or `compute`."""
        return "memory" if self.memory_s >= self.compute_s else "compute"


def decode_floor(speed: Speed, *, batch: int, context: int, tokens_each: int = 1) -> Floor:
    """One step in which `batch` sequences of `context` tokens get `tokens_each` tokens (more than one:
    drafts).

    Formula: bytes = weights read on a rank + KV of all sequences on a rank; operations = 2 * active
    parameters (but the embedding) * tokens + 4 * query dimensions * context of every layer. Llama-3.1-8B in
    bf16 on H100 SXM: 4.481 ms at batch 1 without context, 7.045 ms at batch 32 and 2,048 tokens.
    """
    shape, tokens = speed.shape, batch * tokens_each
    cache = kv_bytes(shape, speed.cache, tensor=speed.ranks.tensor).at(context)
    moved = read_bytes(shape, speed.weights, speed.ranks, tokens) + batch * cache
    matrices = 2 * (shape.active_parameters - (0 if shape.tied else shape.embedding_parameters)) * tokens
    attention = sum(
        4 * (layer.cached_query_dim or layer.query_dim) * _seen(layer, context) for layer in shape.layers
    )
    operations = matrices + tokens * attention
    return Floor(
        moved / speed.gpu.bandwidth_bytes_per_s, operations / (speed.peak_flops * speed.ranks.tensor)
    )


def prefill_floor(speed: Speed, prompt: int, *, step_tokens: int | None = None) -> Floor:
    """The computing of one prompt of so many tokens.

    A step takes `step_tokens` of them at most and reads the weights anew; None: one step takes all.

    Formula: 2 * (active parameters - embedding - lm_head) * S + 2 * layers * query dimensions * S^2 (causal:
    half of all pairs; within a window fewer). Llama-3.1-8B at 8,192 tokens on H100 SXM: 133 ms.
    """
    operations = prefill_operations(speed.shape, prompt)
    most = step_tokens or max(prompt, 1)
    whole, rest = divmod(prompt, most)
    moved = whole * read_bytes(speed.shape, speed.weights, speed.ranks, most)
    if rest:
        moved += read_bytes(speed.shape, speed.weights, speed.ranks, rest)
    return Floor(
        moved / speed.gpu.bandwidth_bytes_per_s, operations / (speed.peak_flops * speed.ranks.tensor)
    )


def prefill_operations(shape: ModelShape, prompt: int) -> int:
    """Multiply and add operations of a prompt on all devices together."""
    outside = shape.embedding_parameters * (1 if shape.tied else 2)
    matrices = 2 * (shape.active_parameters - outside) * prompt
    return matrices + sum(round(4 * layer.query_dim * _pairs(layer, prompt)) for layer in shape.layers)


def _seen(layer: Layer, context: int) -> int:
    """Tokens that a new one attends to in this layer."""
    if isinstance(layer.kv, AttentionKv) and layer.kv.window:
        return min(context, layer.kv.window)
    return context if isinstance(layer.kv, AttentionKv | LatentKv) or layer.query_dim else 0


def _pairs(layer: Layer, prompt: int) -> float:
    """Pairs of tokens that attend to each other: S^2 / 2, within a window W: W * S - W^2 / 2 (chunks: S * W /
    2)."""
    if isinstance(layer.kv, AttentionKv) and layer.kv.window and prompt > layer.kv.window:
        if layer.kv.chunked:
            return prompt * layer.kv.window / 2
        return layer.kv.window * prompt - layer.kv.window**2 / 2
    return prompt**2 / 2
