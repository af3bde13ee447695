"""The memory that public models need, from their configs alone: weights and KV cache against context.

Owns: the sums and how they are told. Knows nothing about any run: everything here is projected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from serving.facts.formats import KvFormat
from serving.facts.storage import WeightStorage
from serving.planner.kv_layers import KvBytes, kv_bytes, kv_storage
from serving.planner.model import model_shape
from serving.planner.weights import weight_bytes

LONG = 32_768
"""The context at which models are set beside each other."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """One model, whole: all ranks together, without rounding to blocks."""

    name: str
    kind: str
    parameters: int
    active_parameters: int
    weight_bytes: int
    """At 16 bits, whatever the checkpoint's own format."""
    kv: KvBytes
    kv_fp8: KvBytes
    max_context: int

    @property
    def short(self) -> str:
        """The name without its owner."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def context(self) -> int:
        """The context at which it is set beside others: 32k, or its own limit."""
        return min(LONG, self.max_context)

    @property
    def users_as_weights(self) -> float:
        """So many requests of that context keep as many bytes in a 16-bit cache as the weights have."""
        return self.weight_bytes / self.kv.at(self.context)


def footprints(
    configs: Mapping[str, Mapping[str, Any]],
    formats: Mapping[str, KvFormat],
    weights: Mapping[str, WeightStorage],
) -> tuple[Footprint, ...]:
    """Work out each model of a catalogue, smallest weights first."""
    sixteen, eight = (kv_storage(name, formats, {}, device="cuda") for name in ("bfloat16", "fp8"))
    found = []
    for name, config in configs.items():
        shape = model_shape(config, name, name)
        found.append(
            Footprint(
                name=name,
                kind=shape.kind,
                parameters=shape.parameters,
                active_parameters=shape.active_parameters,
                weight_bytes=weight_bytes(shape, weights["bf16"]),
                kv=kv_bytes(shape, sixteen),
                kv_fp8=kv_bytes(shape, eight),
                max_context=shape.max_position,
            )
        )
    return tuple(sorted(found, key=lambda model: model.weight_bytes))
