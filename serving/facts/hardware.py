"""GPUs: how much memory, how fast it is read, how fast they multiply.

Owns: the type of the rows of hardware.toml, and finding a device by the names people use. Knows nothing about
files, nor about the devices of this machine: their names come in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One kind of device (or the cores of a CPU). Rates are dense, per second; bytes are bytes."""

    name: str
    title: str
    memory_bytes: int
    memory_kind: Literal["recorded", "nominal", "given", "device"]
    """`nominal`: the vendor's figure, of which a device reports 1 to 3 % less."""
    bandwidth_bytes_per_s: float
    bf16_flops: float
    fp8_flops: float | None
    """None: no such unit; FP8 weights are then widened and multiplied as 16 bits."""
    source: str
    date: str
    rates_kind: Literal["data_sheet", "default", "given"] = "data_sheet"
    """`default`: assumed, as a CPU's are."""
    aliases: tuple[str, ...] = ()
    capability: int | None = None
    """CUDA's compute capability times 10; 0: not of NVIDIA. None: not known, and kernels are not judged."""

    @property
    def device(self) -> Literal["cuda", "rocm"]:
        """As vLLM names its platform."""
        return "rocm" if self.capability == 0 else "cuda"


def parse_gpus(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Gpu]:
    """Give the rows of hardware.toml their type, in units of bytes and operations a second."""
    return {
        name: Gpu(
            name=name,
            title=row["title"],
            memory_bytes=row["memory_bytes"],
            memory_kind=row["memory_kind"],
            bandwidth_bytes_per_s=row["bandwidth_gb_per_s"] * 1e9,
            bf16_flops=row["bf16_tflops"] * 1e12,
            fp8_flops=row["fp8_tflops"] * 1e12 or None,
            source=row["source"],
            date=row["date"],
            aliases=tuple(row["aliases"]),
            capability=row["capability"],
        )
        for name, row in rows.items()
    }


def find_gpu(name: str, gpus: Mapping[str, Gpu]) -> Gpu | None:
    """The device that a person or a driver means (`H100`, `NVIDIA H100 80GB HBM3`); None: not known."""
    plain = _plain(name)
    for gpu in gpus.values():
        if plain in {_plain(gpu.name), *map(_plain, gpu.aliases)}:
            return gpu
    return None


def close_gpus(name: str, gpus: Mapping[str, Gpu]) -> list[str]:
    """Names that may have been meant, nearest first."""
    from difflib import get_close_matches

    words = {_plain(word): gpu.name for gpu in gpus.values() for word in (gpu.name, *gpu.aliases)}
    found = [words[word] for word in get_close_matches(_plain(name), words, n=5, cutoff=0.5)]
    return list(dict.fromkeys(found))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia")
