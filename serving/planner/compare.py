"""Plans side by side: over formats, devices or counts; and the caches of many models against context.

Owns: the rows of both tables, and where a cache overtakes the weights. Knows nothing about how tables are
drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serving.errors import UsageError
from serving.facts.overheads import Overheads
from serving.planner.advise import users_of
from serving.planner.ask import Ask
from serving.planner.kv_layers import KvStorage, kv_bytes
from serving.planner.picture import CONTEXTS
from serving.planner.plan import Plan, make_plan
from serving.planner.shape import ModelShape

FARTHEST = 2**40


@dataclass(frozen=True, slots=True)
class Variant:
    """One question of a comparison."""

    label: str
    ask: Ask
    price_per_hour: float | None = None
    """Of one device, in any currency."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer. `problem` says why there is none."""

    label: str
    devices: int
    plan: Plan | None
    problem: str | None = None
    price_per_hour: float | None = None

    @property
    def blocked_by(self) -> str:
        """The name of what keeps it from fitting; empty where it fits."""
        if self.plan is None:
            return "split"
        return next((limit.name for limit in self.plan.limits if limit.blocks), "")

    @property
    def users(self) -> int:
        """Users at once; 0 where the engine does not start."""
        return users_of(self.plan) if self.plan else 0

    @property
    def users_per_device(self) -> float:
        """What a device carries."""
        return self.users / self.devices

    @property
    def cost_per_user_hour(self) -> float | None:
        """None without a price or without users."""
        if self.price_per_hour is None or not self.users:
            return None
        return self.price_per_hour * self.devices / self.users

    def document(self) -> dict[str, Any]:
        """For JSON."""
        plan = self.plan
        return {
            "label": self.label,
            "devices": self.devices,
            "fits": plan.fits if plan else False,
            "users": self.users,
            "users_per_device": self.users_per_device,
            "cost_per_user_hour": self.cost_per_user_hour,
            "weight_bytes_per_rank": plan.weights.rank_bytes if plan else None,
            "kv_cache_tokens": plan.capacity.tokens if plan else None,
            "decode_step_floor_s": plan.decode.seconds if plan and plan.decode else None,
            "blocked_by": self.blocked_by or None,
            "limits": [limit.what for limit in plan.limits] if plan else [self.problem],
        }


def compare(variants: Iterable[Variant], overheads: Overheads) -> list[Row]:
    """Answer all, most users a device first; where there are prices, the cheapest user before those."""
    rows = []
    for variant in variants:
        devices = variant.ask.ranks.devices
        try:
            plan = make_plan(variant.ask, overheads)
        except UsageError as error:
            rows.append(Row(variant.label, devices, None, str(error)))
            continue
        rows.append(Row(variant.label, devices, plan, price_per_hour=variant.price_per_hour))
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[float, ...]:
    cost = row.cost_per_user_hour
    return float(cost is None), cost or 0.0, -row.users_per_device


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One model's cache in one format."""

    model: str
    format: str
    weight_bytes: int
    at_32k: int | None
    """Bytes of one request of 32,768 tokens; None: the format cannot hold this model's cache."""
    by_context: tuple[int, ...]
    """Bytes at each of CONTEXTS."""
    overtakes_at: int | None
    """The context at which one request's cache outweighs the weights; None: never."""
    max_position: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "model": self.model,
            "format": self.format,
            "weight_bytes": self.weight_bytes,
            "kv_bytes_at_32k": self.at_32k,
            "kv_bytes_by_context": dict(zip(map(str, CONTEXTS), self.by_context, strict=False)),
            "overtakes_weights_at_tokens": self.overtakes_at,
            "beyond_max_position": bool(self.overtakes_at and self.overtakes_at > self.max_position),
        }


def caches(models: Sequence[tuple[ModelShape, int]], storages: Mapping[str, KvStorage]) -> list[CacheRow]:
    """The cache of each model (given with its weight bytes) in each format, in order."""
    return [
        _cache_row(shape, size, label, storage)
        for shape, size in models
        for label, storage in storages.items()
    ]


def _cache_row(shape: ModelShape, weight_bytes: int, label: str, storage: KvStorage) -> CacheRow:
    try:
        cache = kv_bytes(shape, storage)
    except UsageError:
        return CacheRow(shape.name, label, weight_bytes, None, (), None, shape.max_position)
    by_context = tuple(cache.at(tokens) for tokens in CONTEXTS)
    crossing = overtakes(weight_bytes, storage, shape)
    return CacheRow(
        shape.name, label, weight_bytes, cache.at(32768), by_context, crossing, shape.max_position
    )


def overtakes(weight_bytes: int, storage: KvStorage, shape: ModelShape) -> int | None:
    """The fewest tokens at which one request's cache is larger than the weights; None: never (it levels
    off)."""
    cache = kv_bytes(shape, storage)
    if cache.at(FARTHEST) <= weight_bytes:
        return None
    low, high = 0, FARTHEST
    while low + 1 < high:
        middle = (low + high) // 2
        if cache.at(middle) > weight_bytes:
            high = middle
        else:
            low = middle
    return high
