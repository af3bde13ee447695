"""What keeps a plan from more, or from fitting at all, in words with numbers.

Owns: the limits and which of them block. Knows nothing about how blocks, budgets or users are worked out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serving.planner.ask import Ask
from serving.planner.budget import Budget
from serving.planner.kv_groups import Capacity, KvPool


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that keeps the plan from more, or from fitting at all."""

    name: str
    what: str
    blocks: bool
    """True: because of it the plan does not fit."""


def limits(ask: Ask, pool: KvPool, budget: Budget, capacity: Capacity) -> tuple[Limit, ...]:
    """All that bind, first what keeps the engine from starting."""
    found = []
    if budget.missing_bytes:
        what = f"weights and overhead exceed the memory by {_gib(budget.missing_bytes)} a device"
        found.append(Limit("weights", what, blocks=True))
    needed = (pool.blocks(ask.max_model_len) + 1) * pool.block_bytes
    if not budget.missing_bytes and budget.kv_bytes < needed:
        what = (
            f"one request of {ask.max_model_len:,} tokens needs {_gib(needed)} of KV cache a device and "
            f"{_gib(budget.kv_bytes)} are left"
        )
        found.append(Limit("kv_cache", what, blocks=True))
    elif budget.low_bytes < needed and not budget.missing_bytes:
        what = (
            f"within the error of the overheads ({_gib(budget.low_bytes)} at worst) one request may not fit"
        )
        found.append(Limit("margin", what, blocks=False))
    found += _user_limits(ask, pool, capacity) if not found or not found[-1].blocks else []
    if ask.lengths and ask.lengths.p95_tokens > ask.max_model_len:
        what = (
            f"requests of {ask.lengths.p95_tokens:,} tokens (p95) are refused by max_model_len "
            f"{ask.max_model_len:,}"
        )
        found.append(Limit("max_model_len", what, blocks=True))
    if ask.max_model_len > ask.shape.max_position:
        what = (
            f"max_model_len {ask.max_model_len:,} is above the model's {ask.shape.max_position:,} positions"
        )
        found.append(Limit("max_position", what, blocks=True))
    return tuple(found)


def _user_limits(ask: Ask, pool: KvPool, capacity: Capacity) -> list[Limit]:
    tokens = ask.user_tokens
    held = ask.ranks.data * pool.users(capacity.blocks, tokens)
    most = ask.ranks.data * ask.batch.max_num_seqs
    found = []
    if ask.users and ask.users > held:
        what = f"the KV cache holds {held:,} users of {tokens:,} tokens and {ask.users:,} are asked for"
        found.append(Limit("kv_cache", what, blocks=True))
    if ask.users and ask.users > most:
        what = f"max_num_seqs lets {most:,} run at once and {ask.users:,} are asked for"
        found.append(Limit("max_num_seqs", what, blocks=True))
    elif held > most:
        what = (
            f"max_num_seqs lets {most:,} run at once; the KV cache would hold {held:,} of {tokens:,} tokens"
        )
        found.append(Limit("max_num_seqs", what, blocks=False))
    return found


def given_limits(ask: Ask, budget: Budget, overhead_bytes: int) -> Iterator[Limit]:
    """What a cache that is given leaves for the overheads, which vLLM then does not count (on a GPU)."""
    if ask.kv_cache_bytes is None or ask.device == "cpu" or budget.missing_bytes:
        return
    left = budget.total_bytes - budget.weight_bytes - budget.kv_bytes
    if left < overhead_bytes:
        what = (
            f"the KV cache that is given leaves {_gib(left)} a device, and the engine is expected to need "
            f"{_gib(overhead_bytes)} beside it"
        )
        yield Limit("margin", what, blocks=False)


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 1024**3:.2f} GiB"
