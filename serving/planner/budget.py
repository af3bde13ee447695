"""Where a device's memory goes, as vLLM shares it out: weights, overhead, and what is left for the KV cache.

Owns: the budget of one rank with its error band. Knows nothing about models: bytes come in, and the constants
by vLLM version come from `serving.facts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from serving.facts.overheads import Overheads


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What an engine of one rank needs besides KV cache."""

    weight_bytes: int
    vocab: int
    max_num_seqs: int
    max_num_batched_tokens: int
    activation_bytes_per_token: int
    """The widest activations of one token that live at once."""
    ranks: int
    graphs: bool = True
    """CUDA graphs are captured (no --enforce-eager)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One rank's memory in bytes. The parts add up to `requested_bytes`."""

    total_bytes: int
    utilization: float
    requested_bytes: int
    weight_bytes: int
    non_torch_bytes: int
    peak_bytes: int
    graphs_bytes: int
    kv_bytes: int
    """What is left for the KV cache; 0 where nothing is."""
    missing_bytes: int
    """By how much weights and overhead exceed what was requested; 0 where they do not."""
    low_bytes: int
    """The KV cache if every overhead is at the upper end of its band."""
    high_bytes: int
    overhead_low_bytes: int
    """Of the overheads, by their bands."""
    overhead_high_bytes: int

    @property
    def overhead_bytes(self) -> int:
        """All that is neither weights nor KV cache."""
        return self.non_torch_bytes + self.peak_bytes + self.graphs_bytes


def gpu_budget(
    total_bytes: int, demand: Demand, overheads: Overheads, *, version: str, utilization: float | None
) -> Budget:
    """Share out a GPU's memory.

    Formula: ceil(total * utilization) - weights - non-torch - peak of the profile run - CUDA graphs (since
    0.21). The peak is the larger of the logits' copies and the activations of a full batch. Sources: vllm
    0.32.0 v1/worker/utils.py request_memory, v1/worker/gpu_worker.py determine_available_memory; constants:
    facts/overheads.toml. Not run on a GPU.
    """
    row = overheads.of(version)
    share = row.utilization if utilization is None else utilization
    requested = math.ceil(total_bytes * share)
    logits = min(demand.max_num_seqs, demand.max_num_batched_tokens) * demand.vocab * 4
    activations = demand.max_num_batched_tokens * demand.activation_bytes_per_token
    peak = max(round(row.logits_copies * logits), activations)
    alone = demand.ranks == 1
    non_torch = overheads.non_torch_one_rank_bytes if alone else overheads.non_torch_several_ranks_bytes
    counted = row.graphs_counted and demand.graphs
    graphs = overheads.graphs_bytes if counted else 0
    left = requested - demand.weight_bytes - non_torch - peak - graphs
    spread = round(peak * row.logits_band) + round(non_torch * overheads.non_torch_band)
    more = spread + (overheads.graphs_high_bytes - graphs if counted else 0)
    less = spread + (graphs - overheads.graphs_low_bytes if counted else 0)
    return Budget(
        total_bytes=total_bytes,
        utilization=share,
        requested_bytes=requested,
        weight_bytes=demand.weight_bytes,
        non_torch_bytes=non_torch,
        peak_bytes=peak,
        graphs_bytes=graphs,
        kv_bytes=max(0, left),
        missing_bytes=max(0, -left),
        low_bytes=max(0, left - more),
        high_bytes=max(0, left + less),
        overhead_low_bytes=non_torch + peak + graphs - less,
        overhead_high_bytes=non_torch + peak + graphs + more,
    )


def given_budget(total_bytes: int, demand: Demand, kv_bytes: int) -> Budget:
    """The budget where the KV cache is given in bytes (--kv-cache-memory-bytes; always so on CPU).

    The engine takes what it is given; it is missing where weights and cache together exceed the memory.
    """
    needed = demand.weight_bytes + kv_bytes
    return Budget(
        total_bytes=total_bytes,
        utilization=1.0,
        requested_bytes=needed,
        weight_bytes=demand.weight_bytes,
        non_torch_bytes=0,
        peak_bytes=0,
        graphs_bytes=0,
        kv_bytes=kv_bytes,
        missing_bytes=max(0, needed - total_bytes),
        low_bytes=kv_bytes,
        high_bytes=kv_bytes,
        overhead_low_bytes=0,
        overhead_high_bytes=0,
    )
