"""What an engine needs beside weights and KV cache, by vLLM version, with how sure that is.

Owns: the types of the rows of overheads.toml and choosing the row of a version. Knows nothing about files or
models: counts come in from the planner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOverheads:
    """What holds for a range of vLLM versions."""

    until: str | None
    """The first version for which it no longer holds; None: the newest row."""
    logits_copies: float
    """The profile run's peak in copies of the float32 logits."""
    logits_band: float
    """Relative error, 0..1."""
    utilization: float
    """The default of --gpu-memory-utilization."""
    graphs_counted: bool
    """Whether the memory of CUDA graphs is taken off the KV cache's."""
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """All rows of overheads.toml."""

    versions: tuple[VersionOverheads, ...]
    non_torch_one_rank_bytes: int
    non_torch_several_ranks_bytes: int
    non_torch_band: float
    non_torch_source: str
    graphs_bytes: int
    graphs_low_bytes: int
    graphs_high_bytes: int
    graphs_source: str
    efficiency_low: float
    efficiency_high: float
    efficiency_source: str

    def of(self, version: str) -> VersionOverheads:
        """The row of a vLLM version; one that names no number is taken for the newest."""
        wanted = _numbers(version)
        for row in self.versions:
            if row.until is None or (wanted and wanted < _numbers(row.until)):
                return row
        return self.versions[-1]


def parse_overheads(table: Mapping[str, Any]) -> Overheads:
    """Give overheads.toml its type. Raises: KeyError or TypeError on a wrong or missing column."""
    rows = tuple(VersionOverheads(**{"until": None, **row}) for row in table["version"])
    return Overheads(
        versions=rows,
        non_torch_one_rank_bytes=table["non_torch"]["one_rank_bytes"],
        non_torch_several_ranks_bytes=table["non_torch"]["several_ranks_bytes"],
        non_torch_band=table["non_torch"]["band"],
        non_torch_source=table["non_torch"]["source"],
        graphs_bytes=table["graphs"]["bytes"],
        graphs_low_bytes=table["graphs"]["low_bytes"],
        graphs_high_bytes=table["graphs"]["high_bytes"],
        graphs_source=table["graphs"]["source"],
        efficiency_low=table["efficiency"]["low"],
        efficiency_high=table["efficiency"]["high"],
        efficiency_source=table["efficiency"]["source"],
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
