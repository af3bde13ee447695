"""The documents of a study's folder as types: what was designed, what each start and each cell came to.

Owns: the fields of study.json, start.json and cell.json (deploy/decisions/0011). Knows nothing about how they
are written, or what is derived from them. Bytes, tokens and seconds are what the names say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1
QUALITY = "quality"
"""The workload that asks for answers and their likelihood, and not for speed."""
QUALITY_AGAIN = "quality-again"
"""The same once more in the control arm: the control's own noise."""
QUALITIES = (QUALITY, QUALITY_AGAIN)
"""Those that send no load."""
State = Literal["done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """What the planner says of one arm under one workload, at the batch and context that it has."""

    batch: int
    """Of all engines that decode, together; a step of one holds its share."""
    context_tokens: int
    decode_s: float
    """Floor of one decode step."""
    checked_s: float | None = None
    """Floor of a step that checks drafts; None without speculation."""
    draft_s: float | None = None
    """Floor of one step of the drafting model; 0 where tokens are looked up."""
    prefill_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What the planner says of an arm, all its engines together, beforehand. None: it cannot tell."""

    weight_bytes: int | None = None
    kv_cache_tokens: int | None = None
    kv_bytes_per_token: float | None = None
    floors: Mapping[str, Floors] = field(default_factory=dict)
    """By workload; those of which batch and lengths are known beforehand."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One deployment of the study."""

    name: str
    deployment: Mapping[str, Any]
    """Merged, as it would stand in a deployment file."""
    fragment: Mapping[str, Any] = field(default_factory=dict)
    """What it changes, over the base or over the arm `on`."""
    on: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of each factor the value that it has; empty where the file lists arms."""
    model: str
    drafted_tokens: int = 0
    """Speculation: tokens a step; 0 without."""
    ruled_out: str | None = None
    """Why it is not started."""
    planned: Planned = Planned()

    @property
    def runs(self) -> bool:
        """Whether it is started at all."""
        return self.ruled_out is None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One workload within one start."""

    id: str
    start: int
    arm: str
    block: int
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStart:
    """One life of an arm's engine, and the cells in it, in their order."""

    number: int
    arm: str
    cells: tuple[PlannedCell, ...]

    @property
    def folder(self) -> str:
        """Its folder's name."""
        return f"{self.number:03d}-{self.arm}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long it was thought to take, and from what."""

    total_s: float
    start_s: float
    """Mean of one start, with its end."""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """study.json: all that is decided before the first start. Never changed afterwards."""

    name: str
    title: str = ""
    file: str
    fingerprint: str
    """SHA-256 of the study as it was read, with its base and its workloads."""
    seed: int
    repeats: int
    hold: bool
    """One start an arm with all its blocks in it; else a start for each block."""
    control: str
    quality: bool
    budget_s: float | None
    arms: tuple[Arm, ...]
    workloads: Mapping[str, Mapping[str, Any]]
    """Normalized: every field with its default, units in seconds."""
    starts: tuple[PlannedStart, ...]
    estimate: Estimate
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    created: str
    schema: int = SCHEMA

    def arm(self, name: str) -> Arm:
        """The arm of that name. Raises: KeyError."""
        return {arm.name: arm for arm in self.arms}[name]

    @property
    def cells(self) -> tuple[PlannedCell, ...]:
        """All cells, in their order."""
        return tuple(cell for start in self.starts for cell in start.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMode:
    """A mode's verdict, as it was given when the engine was up."""

    kind: str
    asked: str
    in_effect: bool | None
    evidence: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRow:
    """start.json: one life of an engine. What an engine does not tell is None."""

    start: int
    arm: str
    state: Literal["up", "ended", "failed"]
    """up: it serves, or it did when the study was broken off."""
    began: str
    took_s: float | None = None
    """From the start to ready, probes included."""
    down_s: float | None = None
    verdicts: tuple[ShownMode, ...] = ()
    cache_config: Mapping[str, str] = field(default_factory=dict)
    """The labels of `vllm:cache_config_info` of its first engine."""
    weights_bytes: int | None = None
    kv_cache_tokens: int | None = None
    kv_cache_bytes: int | None = None
    engines: int = 1
    logs: tuple[str, ...] = ()
    error: str | None = None
    log_tail: tuple[str, ...] = ()
    """Of a start that failed: the last lines of its engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """cell.json. The load run lies beside it in `load/` (decision 0002), a quality record in
    `quality.json`."""

    cell: str
    start: int
    arm: str
    block: int
    workload: str
    state: State
    began: str
    took_s: float
    valid: bool | None = None
    """As the load run says; None where it came to no summary."""
    reasons: tuple[str, ...] = ()
    error: str | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    """By how much the engines' counters grew over the measured window, by vLLM's names; one label in
    braces."""
    gauges: Mapping[str, float] = field(default_factory=dict)
    """`kv_cache_usage_max_ratio`, `running_max`, `waiting_max` over the window."""
    window_s: float | None = None
