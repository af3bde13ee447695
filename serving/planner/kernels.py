"""Whether a kind of GPU can run the formats that a plan is asked in, as vLLM checks it.

Owns: the limits of formats by a GPU's generation. Knows nothing about bytes. Not run on a GPU: what is
checked is in `serving/facts/{storage,formats}.toml`, with vLLM's own checks as sources. A GPU whose
generation is not known is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.facts.hardware import Gpu
from serving.facts.storage import WeightStorage
from serving.planner.ask import Ask
from serving.planner.limits import Limit
from serving.planner.shape import AttentionKv, LatentKv, ModelShape

HEADS_OF_FLASHINFER = (64, 128, 256, 512)
"""vllm 0.32.0 v1/attention/backends/flashinfer.py get_supported_head_sizes."""


def kernel_limits(ask: Ask) -> Iterator[Limit]:
    """What this GPU cannot run, which keeps the engine from starting, and what it runs in another way."""
    if ask.device == "cpu":
        return
    stored = [("weight_format", ask.weights), ("draft_weight_format", ask.draft_weights)]
    for name, storage in stored:
        if storage is not None:
            yield from _weights(ask, name, storage)
    yield from _cache(ask)


def _weights(ask: Ask, name: str, storage: WeightStorage) -> Iterator[Limit]:
    gpu = ask.gpu
    if ask.device == "rocm":
        if not storage.rocm:
            yield Limit(name, f"vLLM has no kernel for weights in {storage.name} on AMD's GPUs", blocks=True)
    elif gpu is None or not gpu.capability:
        return
    elif gpu.capability < storage.least_capability:
        what = f"weights in {storage.name} need {_needs(storage.least_capability, gpu)}"
        yield Limit(name, what, blocks=True)
    elif gpu.capability < storage.native_capability:
        what = f"weights in {storage.name} are widened and multiplied in 16 bits"
        needs = _needs(storage.native_capability, gpu)
        yield Limit(name, f"{what}: to multiply in it takes {needs}", blocks=False)


def _cache(ask: Ask) -> Iterator[Limit]:
    row, gpu = ask.cache.values, ask.gpu
    if ask.device not in row.devices:
        what = f"no attention backend of vLLM stores {row.name} on {ask.device}"
        yield Limit("kv_format", what, blocks=True)
        return
    if gpu is None or not gpu.capability:
        return
    least = row.least_capability
    if gpu.capability < row.sure_capability:
        if _without_flashinfer(ask.shape):
            least = row.sure_capability
        else:
            what = (
                f"a cache in {row.name} needs vLLM's FlashInfer backend below {_version(row.sure_capability)}"
            )
            yield Limit("kv_format", f"{what} ({_has(gpu)})", blocks=False)
    if gpu.capability < least:
        yield Limit("kv_format", f"a cache in {row.name} needs {_needs(least, gpu)}", blocks=True)


def _without_flashinfer(shape: ModelShape) -> bool:
    """Whether the model is left to Triton's backends on GPUs before Hopper: latents, heads of other sizes."""
    return any(
        isinstance(layer.kv, LatentKv)
        or (isinstance(layer.kv, AttentionKv) and layer.kv.head_dim not in HEADS_OF_FLASHINFER)
        for layer in shape.layers
    )


def _needs(capability: int, gpu: Gpu) -> str:
    return f"compute capability {_version(capability)} ({_has(gpu)})"


def _has(gpu: Gpu) -> str:
    return f"{gpu.name} has {_version(gpu.capability or 0)}"


def _version(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"
