"""Number formats of the KV cache and of weights: how many bits they really take, and where that is so.

Owns: the types of the rows of formats.toml and their arithmetic. Knows nothing about files, models as such,
engines or deployment files: shapes come in as counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Scales = Literal["none", "checkpoint", "dynamic"]
"""Where a format's scales come from: none needed, read from the checkpoint, or computed as tokens come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """One way to store keys and values. Bits are per element, bytes per token and KV head."""

    name: str
    key_bits: int
    value_bits: int
    head_bytes: int = 0
    """Scales, zeros and norms of K and V together."""
    group: int = 0
    """Elements that share a scale; 0: no groups."""
    group_bytes: int = 0
    even: bool = False
    boundary_layers: int = 0
    """Layers at each end of the model that keep the native type."""
    devices: tuple[str, ...]
    """Where vLLM's attention backends really store it, which is less than where the flag is accepted."""
    scales: Scales
    least_capability: int = 0
    """Compute capability times 10 below which no backend has it."""
    sure_capability: int = 0
    """From which every backend has it; 0: as the least."""
    source: str
    date: str

    @property
    def quantized(self) -> bool:
        """Whether it takes fewer than 16 bits an element."""
        return self.key_bits < 16

    def bytes_per_head(self, head_dim: int) -> int:
        """Stored bytes of K and V of one token, one KV head and one layer."""
        data = -(-head_dim * self.key_bits // 8) + -(-head_dim * self.value_bits // 8)
        groups = 2 * -(-head_dim // self.group) * self.group_bytes if self.group else 0
        total = data + self.head_bytes + groups
        return total + total % 2 if self.even else total


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """One way to quantize weights while a model is loaded, by the name `--quantization` takes."""

    name: str
    bits: int
    layers: Literal["linear", "experts"]
    """What is quantized: linear layers and experts, or a mixture's experts alone."""
    devices: tuple[str, ...]
    """Where it has a kernel."""
    source: str
    date: str
    note: str = ""


def parse_weight_formats(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, WeightFormat]:
    """Give the rows of `[weights.*]` their type. Raises: TypeError on a wrong or missing column."""
    return {
        name: WeightFormat(name=name, **{**row, "devices": tuple(row["devices"])})
        for name, row in rows.items()
    }


def parse_kv_formats(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, KvFormat]:
    """Give the rows of `[kv.*]` their type. Raises: TypeError on a wrong or missing column."""
    return {
        name: KvFormat(name=name, **{**row, "devices": tuple(row["devices"])}) for name, row in rows.items()
    }


def kv_bytes_per_token(
    kv_format: KvFormat, *, layers: int, kv_heads: int, head_dim: int, native_bytes: int = 2
) -> int:
    """KV cache bytes of one token over all layers of a model whose layers are all alike, on one rank.

    `native_bytes` is the element size of the model's own type, which boundary layers keep.
    For tensor parallelism pass the heads of one rank, max(1, kv_heads // tp).
    """
    kept = min(2 * kv_format.boundary_layers, layers)
    packed = (layers - kept) * kv_heads * kv_format.bytes_per_head(head_dim)
    return packed + kept * kv_heads * 2 * head_dim * native_bytes
