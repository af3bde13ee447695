"""CPUs: the fastest that one could read memory and multiply, from its cores, clock and instructions.

Owns: the rows of processors.toml and the rates that follow from them. Knows nothing about /proc: what a
machine says of itself comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from serving.facts.hardware import Gpu


class Processor(NamedTuple):
    """What a machine says of its CPU."""

    title: str
    hz: float
    """The highest clock that it tells of."""
    flags: frozenset[str]


class Instructions(NamedTuple):
    """The widest multiply-add that a core has, by its flag in /proc/cpuinfo."""

    flag: str
    flops_per_cycle: int
    source: str
    date: str


class Processors(NamedTuple):
    """All rows of processors.toml, widest instructions first."""

    instructions: tuple[Instructions, ...]
    bytes_per_s_core: float
    most_bytes_per_s: float
    bandwidth_source: str

    def rates(self, processor: Processor, *, cores: int, memory_bytes: int) -> Gpu | None:
        """So many of its cores as a device; None: none of its instructions is known."""
        widest = next((row for row in self.instructions if row.flag in processor.flags), None)
        if widest is None:
            return None
        clock = f"{processor.hz / 1e9:.1f} GHz"
        return Gpu(
            name="cpu",
            title=f"{processor.title}, {cores} core{'s' if cores > 1 else ''} with {widest.flag}",
            memory_bytes=memory_bytes,
            memory_kind="device",
            bandwidth_bytes_per_s=min(cores * self.bytes_per_s_core, self.most_bytes_per_s),
            bf16_flops=cores * processor.hz * widest.flops_per_cycle,
            fp8_flops=None,
            rates_kind="default",
            source=f"{self.bandwidth_source}; {widest.source}, at {clock}",
            date=widest.date,
        )


def parse_processors(table: Mapping[str, Any]) -> Processors:
    """Give processors.toml its type. Raises: KeyError or TypeError on a wrong or missing column."""
    bandwidth = table["bandwidth"]
    return Processors(
        instructions=tuple(Instructions(**row) for row in table["instructions"]),
        bytes_per_s_core=bandwidth["per_core_gb_per_s"] * 1e9,
        most_bytes_per_s=bandwidth["most_gb_per_s"] * 1e9,
        bandwidth_source=bandwidth["source"],
    )
