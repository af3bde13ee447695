"""A question in 32 bits an element, where `--dtype float32` forces them.

Owns: what changes: weights, cache, states, the files' sums. Knows nothing about who forces it.
"""

from __future__ import annotations

from dataclasses import replace

from serving.errors import UsageError
from serving.facts.storage import WeightStorage
from serving.planner.ask import Ask

FLOAT32 = (("float32",), ("float",))
"""The words that --dtype takes for it."""


def widened(ask: Ask, storage: WeightStorage) -> Ask:
    """The question with weights in `storage`, and a cache that is not quantized, in 32 bits.

    Raises: UsageError where weights are quantized, for vLLM then serves 16 bits alone (vllm 0.32.0
    config/vllm.py asks get_supported_act_dtypes).
    """
    if ask.weights.layers != "all":
        raise UsageError(
            f"is float32, and weights in {ask.weights.name} are served in 16 bits alone",
            where="engine.args: dtype",
            fix="leave it out",
        )
    cache = ask.cache
    if not cache.values.quantized and not cache.latents:
        cache = cache._replace(values=replace(cache.values, key_bits=32, value_bits=32))
    checkpoint = ask.checkpoint
    if checkpoint is not None:
        checkpoint = checkpoint._replace(total_bytes=checkpoint.total_bytes * 2)
    shape = replace(ask.shape, element_bytes=4)
    return replace(ask, shape=shape, weights=storage, cache=cache, checkpoint=checkpoint)
