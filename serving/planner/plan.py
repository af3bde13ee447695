"""The plan: does it fit, for how many, how fast at best.

Owns: bringing weights, cache, budget and floors together into one answer. Knows nothing about files, clocks
or how an answer is shown. Pure: the same question has the same answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from serving.facts.overheads import Overheads
from serving.planner.ask import Ask
from serving.planner.budget import Budget, Demand, given_budget, gpu_budget
from serving.planner.kernels import kernel_limits
from serving.planner.kv_groups import Capacity, KvPool, Split, kv_pool
from serving.planner.kv_layers import KvBytes, kv_bytes
from serving.planner.limits import Limit, given_limits, limits
from serving.planner.refusals import refuse
from serving.planner.roofline import Floor, Speed, decode_floor, prefill_floor
from serving.planner.speculation import Gain, gain, loss_from
from serving.planner.transfer import Transfer, kv_transfer
from serving.planner.weights import check_split, rank_bytes, weight_bytes


class Weights(NamedTuple):
    """Bytes of the weights: of all, and of the fullest rank (a draft's share included)."""

    total_bytes: int
    rank_bytes: int
    from_files: bool
    draft_bytes: int = 0


class Users(NamedTuple):
    """Requests at once, over all copies, by length; each is capped by max_num_seqs."""

    at_max: int
    at_p50: int | None
    at_p95: int | None
    longest_at_users: int | None
    """The longest context that the users asked for can all have."""


class Plan(NamedTuple):
    """The answer. Times are None where the device's rates are not known."""

    ask: Ask
    weights: Weights
    cache: KvBytes
    rank_cache: KvBytes
    pool: KvPool
    budget: Budget
    capacity: Capacity
    users: Users
    limits: tuple[Limit, ...]
    decode: Floor | None = None
    prefill: Floor | None = None
    first_token: Floor | None = None
    """The prompt in steps of max_num_batched_tokens: the step that ends it gives the first token."""
    gains: tuple[Gain, ...] = ()
    loss_batch: int | None = None
    transfer: Transfer | None = None

    @property
    def fits(self) -> bool:
        """Whether the engine starts, and holds the users asked for."""
        return not any(limit.blocks for limit in self.limits)

    @property
    def prompt_tokens(self) -> int:
        """Of the prefill floor: the workload's prompt, else the longest."""
        return self.ask.lengths.input_tokens if self.ask.lengths else self.ask.max_model_len

    @property
    def context_tokens(self) -> int:
        """Of the decode floor: the workload's mean context while decoding, else the longest."""
        lengths = self.ask.lengths
        return lengths.input_tokens + lengths.output_tokens // 2 if lengths else self.ask.max_model_len

    @property
    def batch(self) -> int:
        """Sequences in the step of the decode floor, on one engine: the users asked for, else one."""
        users = -(-(self.ask.users or 1) // self.ask.ranks.data)
        return min(users, self.ask.batch.max_num_seqs)


def make_plan(ask: Ask, overheads: Overheads) -> Plan:
    """Answer a question. Raises: UsageError where it contradicts itself, or the model cannot be split so."""
    return _with_times(memory_plan(ask, overheads))


def memory_plan(ask: Ask, overheads: Overheads) -> Plan:
    """The answer without times, at a third of their cost: does it fit, for how many. Raises: UsageError."""
    refuse(ask)
    check_split(ask.shape, ask.ranks)
    weights = _weights(ask)
    pool = _pool(ask)
    budget = _budget(ask, weights.rank_bytes, overheads)
    capacity = pool.capacity(budget.kv_bytes, ask.max_model_len)
    return Plan(
        ask=ask,
        weights=weights,
        cache=kv_bytes(ask.shape, ask.cache),
        rank_cache=kv_bytes(ask.shape, ask.cache, tensor=ask.ranks.tensor),
        pool=pool,
        budget=budget,
        capacity=capacity,
        users=users_held(ask, pool, capacity),
        limits=_limits(ask, pool, budget, capacity, overheads),
    )


def speed(ask: Ask) -> Speed | None:
    """The model as it is served; None where the device's rates are not known."""
    return Speed(ask.shape, ask.weights, ask.cache, ask.gpu, ask.ranks) if ask.gpu else None


def draft_speed(ask: Ask) -> Speed | None:
    """The drafting model as it is served; None without one, or without the device's rates."""
    served = speed(ask)
    if ask.draft_shape is None or served is None:
        return None
    return replace(served, shape=ask.draft_shape, weights=ask.draft_weights or ask.weights)


def _weights(ask: Ask) -> Weights:
    total = weight_bytes(ask.shape, ask.weights)
    rank = rank_bytes(ask.shape, ask.weights, ask.ranks)
    drafts = ask.draft_weights or ask.weights
    draft = rank_bytes(ask.draft_shape, drafts, ask.ranks) if ask.draft_shape else 0
    if ask.checkpoint is None:
        return Weights(total, rank + draft, from_files=False, draft_bytes=draft)
    # Files hold what arithmetic may not know (vision towers, odd scales): ranks share it as they share the
    # rest.
    told = ask.checkpoint.total_bytes
    return Weights(told, -(-rank * told // total) + draft, from_files=True, draft_bytes=draft)


def _pool(ask: Ask) -> KvPool:
    split = Split(
        ask.block_tokens, ask.ranks.tensor, ask.ranks.pipeline, ask.in_flight_tokens, ask.prefix_cache
    )
    shape = ask.shape
    if ask.draft_shape is not None:
        shape = replace(shape, layers=(*shape.layers, *ask.draft_shape.layers))
    return kv_pool(shape, ask.cache, split)


def _budget(ask: Ask, held_bytes: int, overheads: Overheads) -> Budget:
    demand = _demand(ask, held_bytes)
    if ask.kv_cache_bytes is not None:
        return given_budget(ask.memory_bytes, demand, ask.kv_cache_bytes)
    return gpu_budget(ask.memory_bytes, demand, overheads, version=ask.version, utilization=ask.utilization)


def _limits(
    ask: Ask, pool: KvPool, budget: Budget, capacity: Capacity, overheads: Overheads
) -> tuple[Limit, ...]:
    found = (*kernel_limits(ask), *limits(ask, pool, budget, capacity))
    if ask.kv_cache_bytes is None:
        return found
    counted = replace(ask, kv_cache_bytes=None)
    overhead = _budget(counted, budget.weight_bytes, overheads).overhead_bytes
    return (*found, *given_limits(ask, budget, overhead))


def _demand(ask: Ask, held_bytes: int) -> Demand:
    shape, batch = ask.shape, ask.batch
    return Demand(
        weight_bytes=held_bytes,
        vocab=shape.vocab,
        max_num_seqs=batch.max_num_seqs,
        max_num_batched_tokens=batch.max_num_batched_tokens,
        activation_bytes_per_token=2 * (2 * shape.intermediate // ask.ranks.tensor + 4 * shape.hidden),
        ranks=ask.ranks.world,
        graphs=ask.graphs,
    )


def users_held(ask: Ask, pool: KvPool, capacity: Capacity) -> Users:
    """The users of a capacity."""
    copies, most = ask.ranks.data, ask.batch.max_num_seqs

    def at(tokens: int) -> int:
        return copies * min(most, pool.users(capacity.blocks, tokens))

    longest = None
    if ask.users:
        longest = pool.longest(capacity.blocks, -(-ask.users // copies), ask.shape.max_position)
    lengths = ask.lengths
    return Users(
        at(ask.max_model_len),
        at(lengths.p50_tokens) if lengths else None,
        at(lengths.p95_tokens) if lengths else None,
        longest,
    )


def with_decode(plan: Plan) -> Plan:
    """The plan with the floor of its decode step, at a third of the cost of all its times."""
    served = speed(plan.ask)
    if served is None:
        return plan
    return plan._replace(decode=decode_floor(served, batch=plan.batch, context=plan.context_tokens))


def _with_times(plan: Plan) -> Plan:
    ask, served = plan.ask, speed(plan.ask)
    if served is None:
        return plan
    prefill = prefill_floor(served, plan.prompt_tokens)
    step_tokens = ask.batch.max_num_batched_tokens
    first_token = prefill_floor(served, plan.prompt_tokens, step_tokens=step_tokens)
    gains: tuple[Gain, ...] = ()
    loss = None
    if ask.drafting:
        batches = sorted({1, plan.batch, 8, 32, 128})
        gains = tuple(gain(served, ask.drafting, batch=b, context=plan.context_tokens) for b in batches)
        loss = loss_from(served, ask.drafting, context=plan.context_tokens)
    transfer = None
    if ask.link_bytes_per_s:
        transfer = kv_transfer(plan.cache, plan.prompt_tokens, ask.link_bytes_per_s, prefill.seconds)
    return with_decode(plan)._replace(
        prefill=prefill,
        first_token=first_token,
        gains=gains,
        loss_batch=loss,
        transfer=transfer,
    )
