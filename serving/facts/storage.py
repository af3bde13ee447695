"""How weights, and the latent cache of MLA layers, are stored: bits, scales, zero points.

Owns: the types of the rows of storage.toml and their arithmetic. Knows nothing about models: matrices come in
as rows and columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightStorage:
    """One way to store weights. A scale is shared by group_rows x group_cols elements; 0: all of them."""

    name: str
    bits: int
    layers: Literal["all", "linear", "experts"]
    """What is stored so; the rest stays 16-bit."""
    group_rows: int = 0
    group_cols: int = 0
    scale_bits: int = 0
    zero_bits: int = 0
    compute: Literal["bf16", "fp8"]
    """The type of the multiplication, which decides the peak rate."""
    risk: str
    """What it may do to answers."""
    flag: str | None = None
    """What --quantization takes to make it while loading; None: the checkpoint must have it."""
    least_capability: int = 0
    """Compute capability times 10 below which vLLM does not start it."""
    native_capability: int = 0
    """From which it is multiplied as it is stored; older devices widen it to 16 bits. 0: as the least."""
    rocm: bool = True
    """Whether AMD's GPUs have it."""
    aliases: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    """Names of modules that stay 16-bit, from a checkpoint's own list."""
    source: str
    date: str

    def matrix_bytes(self, rows: int, cols: int) -> int:
        """Bytes of one matrix of rows (output features) x cols, scales included."""
        data = -(-rows * cols * self.bits // 8)
        if not self.scale_bits:
            return data
        groups = -(-rows // (self.group_rows or rows)) * -(-cols // (self.group_cols or cols))
        return data + -(-groups * (self.scale_bits + self.zero_bits) // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentStorage:
    """One way to store the latent and the rotary part of MLA."""

    name: str
    latent_bits: int
    group: int
    scale_bytes: int
    rope_bytes: int
    source: str
    date: str

    def token_bytes(self, latent: int, rope: int) -> int:
        """Bytes of one token in one layer."""
        scales = -(-latent // self.group) * self.scale_bytes
        return -(-latent * self.latent_bits // 8) + scales + rope * self.rope_bytes


def parse_weight_storage(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, WeightStorage]:
    """Give the rows of `[weights.*]` their type. Raises: TypeError on a wrong or missing column."""
    return {
        name: WeightStorage(name=name, **{**row, "aliases": tuple(row.get("aliases", ()))})
        for name, row in rows.items()
    }


def parse_latent_storage(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, LatentStorage]:
    """Give the rows of `[latent.*]` their type. Raises: TypeError on a wrong or missing column."""
    return {name: LatentStorage(name=name, **row) for name, row in rows.items()}


def find_storage(name: str, known: Mapping[str, WeightStorage]) -> WeightStorage | None:
    """The storage of that name or alias; None: not known."""
    return next((row for row in known.values() if name == row.name or name in row.aliases), None)
