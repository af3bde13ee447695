"""What does not fit the model's or the machine's limits, whatever the modes.

Owns: these rows. Knows nothing about how a machine was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.problems.row import Asked, Hit, Row

GPU_SHARE = 0.92
"""vLLM's default of --gpu-memory-utilization, in 0.32 and 0.33."""
_GIB = 1024**3


def _too_long(asked: Asked) -> Iterator[Hit]:
    model, longest = asked.context.model, asked.context.max_model_len
    if model and longest and longest > model.max_position:
        what = f"{longest} is longer than the {model.max_position} positions of {model.name}"
        yield Hit(what=what, fix=f"set {model.max_position} or less", key="engine.max_model_len")


def _gpu_memory(asked: Asked) -> Iterator[Hit]:
    context = asked.context
    if context.device == "cpu" or not context.machine:
        return
    share = GPU_SHARE if context.gpu_memory_utilization is None else context.gpu_memory_utilization
    for index, gpu in enumerate(context.machine.accelerators):
        mine = not context.slot.devices or index in context.slot.devices
        wanted = share * gpu.total_bytes
        if mine and wanted > gpu.free_bytes:
            free, total = gpu.free_bytes / _GIB, gpu.total_bytes / _GIB
            held = f"{free:.1f} of {total:.1f} GiB free"
            what = f"GPU {index} ({gpu.name}) has {held}, and {share:g} of all is asked for"
            most = int(gpu.free_bytes / gpu.total_bytes * 100) / 100
            fix = f"stop what else uses it, or set gpu_memory_utilization to {most:.2f} or less"
            yield Hit(what=what, fix=fix, key="engine.gpu_memory_utilization")


def _cpu_memory(asked: Asked) -> Iterator[Hit]:
    context = asked.context
    if context.device != "cpu" or not context.machine or not context.kv_cache_bytes:
        return
    # Peers share the machine: each takes as much.
    wanted = context.kv_cache_bytes * (1 + len(context.peers))
    if wanted > context.machine.memory_available_bytes:
        free = context.machine.memory_available_bytes / _GIB
        what = f"KV caches of {wanted / _GIB:.1f} GiB do not fit the {free:.1f} GiB of memory that are free"
        yield Hit(what=what, fix="set a smaller kv_cache_memory", key="engine.kv_cache_memory")


def _step(asked: Asked) -> Iterator[Hit]:
    found, longest = asked.find(ChunkedPrefill), asked.context.max_model_len
    step = found[1].max_batched_tokens if found and not found[1].enabled else None
    if found and step and longest and step < longest:
        what = f"max_batched_tokens {step} is below max_model_len {longest}"
        fix = f"set it to {longest} or more, or enabled: true"
        yield Hit(what=what, fix=fix, mode=found[0], key="max_batched_tokens")


ROWS = (
    Row(
        "longer_than_the_model",
        "max_model_len beyond the model's positions",
        "error",
        "vLLM refuses it",
        "read: vLLM 0.32.0 config/model.py",
        _too_long,
    ),
    Row(
        "gpu_memory_not_free",
        "GPU memory that another process holds",
        "error",
        "vLLM wants its share of the total to be free when it starts",
        "vLLM #20305, #23192; 0.32.0 v1/worker/utils.py request_memory",
        _gpu_memory,
    ),
    Row(
        "memory_not_free",
        "KV caches on CPU larger than the free memory",
        "error",
        "vLLM refuses it, or the machine kills the engine later",
        "read: vLLM 0.32.0 v1/worker/cpu_worker.py",
        _cpu_memory,
    ),
    Row(
        "step_shorter_than_a_prompt",
        "a step shorter than the longest prompt, without chunked prefill",
        "error",
        "without chunks a prompt must fit one step",
        "read: vLLM 0.32.0 config/scheduler.py verify_max_model_len",
        _step,
    ),
)
