"""The figures of a plan by name, each with its kind and source: what `--json` prints.

Owns: names, kinds and sources of all figures. Knows nothing about how any of them is worked out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from serving.facts.overheads import Overheads
from serving.planner.ask import GIVEN_EFFICIENCY, Ask
from serving.planner.figure import Figure, Kind
from serving.planner.plan import Plan, users_held

RATES_UNKNOWN = "the device's rates are not known: give --bandwidth and --flops"
NOT_CALIBRATED = (
    "how much of a CPU's floor is reached is not known beforehand: give --run DIR or --efficiency"
)
WITHOUT_OVERHEAD = "weights and the KV cache that is given, less the memory; overheads are not counted"
GROUPS = "vllm 0.32.0 v1/core/kv_cache_utils.py"


def figures(plan: Plan, overheads: Overheads) -> Mapping[str, Figure]:
    """Every figure of a plan by its name in the JSON document."""
    return {**_model(plan), **_memory(plan, overheads), **_capacity(plan), **_times(plan, overheads)}


def _model(plan: Plan) -> dict[str, Figure]:
    shape, cache, weights = plan.ask.shape, plan.cache, plan.weights
    told: Kind = "exact" if weights.from_files else "formula"
    checkpoint = plan.ask.checkpoint
    files = checkpoint.source if checkpoint else f"config.json and {plan.ask.weights.source}"
    layers = f"config.json; {plan.ask.cache.values.source}"
    return {
        "kv_bytes_per_token": Figure(cache.growing_per_token, "bytes", "exact", layers),
        "kv_bytes_per_token_window": Figure(cache.window_per_token, "bytes", "exact", layers),
        "kv_bytes_per_request_fixed": Figure(cache.states + cache.window_full, "bytes", "exact", layers),
        "kv_bytes_per_request_states": Figure(cache.states, "bytes", "exact", layers),
        "kv_bytes_per_request_windows": Figure(cache.window_full, "bytes", "exact", layers),
        "kv_bytes_per_token_rank": Figure(plan.rank_cache.growing_per_token, "bytes", "exact", layers),
        "params_total": Figure(shape.parameters, "parameters", "exact", "config.json"),
        "params_active": Figure(shape.active_parameters, "parameters", "exact", "config.json"),
        "weight_bytes": Figure(weights.total_bytes, "bytes", told, files),
        "weight_bytes_per_rank": Figure(weights.rank_bytes, "bytes", "formula", f"{files}; the fullest rank"),
    }


def _memory(plan: Plan, overheads: Overheads) -> dict[str, Figure]:
    budget, ask = plan.budget, plan.ask
    row = overheads.of(ask.version)
    fitted = f"budget of vLLM {ask.version}; {row.source}"
    over = budget.weight_bytes - budget.requested_bytes
    found = {"device_memory_bytes": _device_memory(ask)}
    if ask.kv_cache_bytes is not None:
        given = "kv_cache_memory is given, and vLLM takes it whole"
        return found | {
            "gpu_memory_utilization": Figure(None, "ratio", "given", given),
            "overhead_bytes_per_rank": Figure(None, "bytes", "fitted", f"{given}: not part of it"),
            "kv_cache_bytes_per_rank": Figure(budget.kv_bytes, "bytes", "given", "kv_cache_memory"),
            "missing_bytes_per_rank": Figure(budget.missing_bytes, "bytes", "formula", WITHOUT_OVERHEAD),
        }
    share: Kind = "default" if ask.utilization is None else "given"
    said = row.source if ask.utilization is None else "gpu_memory_utilization"
    least, most = max(0, over + budget.overhead_low_bytes), max(0, over + budget.overhead_high_bytes)
    return found | {
        "gpu_memory_utilization": Figure(budget.utilization, "ratio", share, said),
        "overhead_bytes_per_rank": Figure(
            budget.overhead_bytes,
            "bytes",
            "fitted",
            row.source,
            budget.overhead_low_bytes,
            budget.overhead_high_bytes,
        ),
        "kv_cache_bytes_per_rank": Figure(
            budget.kv_bytes, "bytes", "fitted", fitted, budget.low_bytes, budget.high_bytes
        ),
        "missing_bytes_per_rank": Figure(budget.missing_bytes, "bytes", "fitted", fitted, least, most),
    }


def _device_memory(ask: Ask) -> Figure:
    if ask.device == "cpu":
        return Figure(ask.memory_bytes, "bytes", "measured", "available on this machine, a rank's share")
    if ask.gpu is None or ask.gpu.memory_kind == "device":
        return Figure(ask.memory_bytes, "bytes", "measured", "read from the device")
    if ask.gpu.memory_kind == "given":
        return Figure(ask.memory_bytes, "bytes", "given", "--gpu-memory")
    return Figure(ask.memory_bytes, "bytes", "default", f"{ask.gpu.memory_kind}: {ask.gpu.source}")


def _capacity(plan: Plan) -> dict[str, Figure]:
    """What the cache holds; from a fitted budget, at both ends of its band too."""
    ask, budget, pool = plan.ask, plan.budget, plan.pool
    kind: Kind = "fitted" if ask.kv_cache_bytes is None else "exact"
    ends = (budget.low_bytes, budget.high_bytes) if kind == "fitted" else ()
    capacities = [pool.capacity(size, ask.max_model_len) for size in ends]
    users = [users_held(ask, pool, capacity) for capacity in capacities]

    def figure(value: float, unit: str, at_ends: Sequence[float | None], source: str = GROUPS) -> Figure:
        low, high = at_ends or (None, None)
        return Figure(value, unit, kind, source, low, high)

    capacity, held, lengths = plan.capacity, plan.users, ask.lengths
    times = f"requests of {ask.max_model_len} tokens"
    found = {
        "kv_cache_blocks": figure(capacity.blocks, "blocks", [each.blocks for each in capacities]),
        "kv_cache_tokens": figure(capacity.tokens, "tokens", [each.tokens for each in capacities]),
        "max_concurrency": figure(
            round(capacity.max_concurrency, 4), times, [round(each.max_concurrency, 4) for each in capacities]
        ),
        "kv_block_bytes": Figure(pool.block_bytes, "bytes", "formula", GROUPS),
        "kv_block_tokens": Figure(pool.block_tokens, "tokens", "formula", GROUPS),
        "users_at_max_model_len": figure(held.at_max, "users", [each.at_max for each in users]),
    }
    if lengths and held.at_p50 is not None and held.at_p95 is not None:
        p50, p95 = f"users of {lengths.p50_tokens} tokens", f"users of {lengths.p95_tokens} tokens"
        found["users_at_p50"] = figure(held.at_p50, p50, [each.at_p50 for each in users], lengths.source)
        found["users_at_p95"] = figure(held.at_p95, p95, [each.at_p95 for each in users], lengths.source)
    if held.longest_at_users is not None:
        longest = [each.longest_at_users for each in users]
        found["longest_context_at_users"] = figure(held.longest_at_users, "tokens", longest)
    return found


def _times(plan: Plan, overheads: Overheads) -> dict[str, Figure]:
    if plan.decode is None or plan.prefill is None or plan.first_token is None or plan.ask.gpu is None:
        source = RATES_UNKNOWN
        return {
            "decode_step_floor_s": Figure(None, "s", "formula", source),
            "prefill_floor_s": Figure(None, "s", "formula", source),
        }
    gpu = plan.ask.gpu.source
    step = f"roofline at batch {plan.batch}, {plan.context_tokens} tokens, {plan.decode.bound}-bound; {gpu}"
    prompt = f"roofline of {plan.prompt_tokens} tokens, {plan.prefill.bound}-bound; {gpu}"
    kind: Kind = "default" if plan.ask.gpu.rates_kind == "default" else "formula"
    found = {
        "decode_step_floor_s": Figure(plan.decode.seconds, "s", kind, step),
        "prefill_floor_s": Figure(plan.prefill.seconds, "s", kind, prompt),
        "ttft_floor_s": Figure(plan.first_token.seconds, "s", kind, _steps(plan)),
        "tpot_calibrated_s": _calibrated(plan, plan.decode.seconds, overheads),
        "ttft_calibrated_s": _calibrated_prompt(plan, plan.first_token.seconds, overheads),
    }
    if plan.transfer:
        found["kv_transfer_bytes"] = Figure(
            plan.transfer.moved_bytes, "bytes", "formula", "KV bytes of the prompt"
        )
        found["kv_transfer_s"] = Figure(plan.transfer.seconds, "s", "formula", "bytes over the link's rate")
        found["kv_transfer_ratio"] = Figure(
            plan.transfer.share_of_prefill, "ratio", "formula", "of the floor of the prefill that it follows"
        )
    return found


def _steps(plan: Plan) -> str:
    most = plan.ask.batch.max_num_batched_tokens
    steps = -(-plan.prompt_tokens // most)
    return f"the prompt in {steps} step{'' if steps == 1 else 's'} of at most {most} tokens, no queue"


def _calibrated(plan: Plan, floor_s: float, overheads: Overheads) -> Figure:
    """The floor over the share of it that is reached: as measured, else the stated range of GPUs."""
    ask = plan.ask
    if ask.efficiency:
        return Figure(floor_s / ask.efficiency, "s", "calibrated", ask.efficiency_source)
    if ask.device == "cpu":
        return Figure(None, "s", "calibrated", NOT_CALIBRATED)
    low, high = overheads.efficiency_low, overheads.efficiency_high
    middle = floor_s / ((low + high) / 2)
    return Figure(middle, "s", "default", overheads.efficiency_source, floor_s / high, floor_s / low)


def _calibrated_prompt(plan: Plan, floor_s: float, overheads: Overheads) -> Figure:
    """The same of the first token. A run's share is of its decode steps, and its own TTFT stands beside."""
    ask = plan.ask
    if ask.efficiency and ask.efficiency_source != GIVEN_EFFICIENCY:
        return Figure(None, "s", "calibrated", "the run tells its own TTFT")
    found = _calibrated(plan, floor_s, overheads)
    return found._replace(source=f"{found.source}; decode's share is taken for prompts too")


def document(plan: Plan, overheads: Overheads) -> dict[str, Any]:
    """The plan as one JSON document: figures flat by name, and again with kind and source."""
    named = figures(plan, overheads)
    ask = plan.ask
    return {
        "model": ask.shape.name,
        "architecture": ask.shape.architecture,
        "kind": ask.shape.kind,
        "gpu": ask.gpu.name if ask.gpu and ask.device != "cpu" else None,
        "device": ask.device,
        "vllm_version": ask.version,
        "engines": ask.engines,
        "devices": ask.ranks.devices,
        "tensor": ask.ranks.tensor,
        "pipeline": ask.ranks.pipeline,
        "data": ask.ranks.data,
        "expert": ask.ranks.expert,
        "weight_format": ask.weights.name,
        "kv_format": ask.cache.name,
        "max_model_len": ask.max_model_len,
        "max_num_seqs": ask.batch.max_num_seqs,
        "max_num_batched_tokens": ask.batch.max_num_batched_tokens,
        "users": ask.users,
        **{name: figure.value for name, figure in named.items()},
        "fits": plan.fits,
        "limits": [asdict(limit) for limit in plan.limits],
        "speculation": _speculation(plan),
        "notes": list(ask.shape.notes),
        "figures": {name: figure.document() for name, figure in named.items()},
    }


def _speculation(plan: Plan) -> dict[str, Any] | None:
    if not plan.gains:
        return None
    return {
        "tokens_per_step": plan.gains[0].tokens_per_step,
        "by_batch": [{"batch": g.batch, "speedup": round(g.speedup, 3)} for g in plan.gains],
        "loss_from_batch": plan.loss_batch,
        "kind": "formula",
        "source": "E * t(B, 1) / (k * t_draft(B) + t(B, k + 1)), by floors",
    }
