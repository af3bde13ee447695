"""Reads what modes need to know of a model out of its config.json.

Owns: which keys are read, and what stands in for a missing one. Knows nothing about files: the
parsed JSON comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from serving.errors import UsageError
from serving.facts.rope import factors, lengthened, positions_key
from serving.modes.mode import ModelFacts

BYTES_PER_PARAM: Mapping[str, float] = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_OTHER_LAYERS = ("sliding_window", "kv_lora_rank", "layers_block_type", "attn_layer_period", "full_attn_idxs")
"""Keys of models whose layers do not all store the same keys and values (windows, MLA, state space)."""

_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_KV_SCALES = ("kv_cache_scheme", "kv_cache_quant_algo")
"""Where compressed-tensors and ModelOpt say that a checkpoint carries scales of the KV cache."""


def model_facts(name: str, config: Mapping[str, Any]) -> ModelFacts:
    """Take the facts of a causal language model from its parsed config.json.

    A `text_config` inside (multimodal models) is read in its place. `head_dim` is taken where given
    and is hidden_size / heads only where not. Raises: UsageError naming what is missing or wrong.
    """
    text = config.get("text_config")
    shape: Mapping[str, Any] = text if isinstance(text, Mapping) else config
    heads = _count(name, shape, "num_attention_heads")
    architectures = config.get("architectures") or ("unknown",)
    return ModelFacts(
        name=name,
        architecture=str(architectures[0]),
        layers=_count(name, shape, "num_hidden_layers"),
        attention_heads=heads,
        kv_heads=_count(name, shape, "num_key_value_heads", default=heads),
        head_dim=_head_dim(name, shape, heads),
        vocab_size=_count(name, shape, "vocab_size"),
        max_position=_positions(name, shape, config),
        weight_bytes_per_param=_bytes_per_param(config, shape),
        quantization=_quantization(config),
        uniform_layers=_uniform(shape),
        kv_scales=_kv_scales(config),
        experts=next((int(shape[key]) for key in _EXPERTS if isinstance(shape.get(key), int)), 0),
    )


def _count(name: str, config: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    if value is None:
        if default is not None:
            return default
        raise UsageError(
            f"the config.json of '{name}' has no '{key}'", fix="give the folder of a causal language model"
        )
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise UsageError(
            f"the config.json of '{name}' has {key}: {value!r}, not a count",
            fix="give the folder of a causal language model",
        )
    return value


def _positions(name: str, shape: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    """As vLLM lengthens them by the rope. What is no factor lengthens nothing: the planner tells of it."""
    both = {**config, **shape}
    said = _count(name, both, positions_key(both.get))
    positions = said
    for _, factor in factors(both.get):
        if isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < inf:
            positions = lengthened(said, factor)
    return positions


def _head_dim(name: str, shape: Mapping[str, Any], heads: int) -> int:
    if shape.get("head_dim") is not None:
        return _count(name, shape, "head_dim")
    hidden = _count(name, shape, "hidden_size")
    if hidden % heads:
        raise UsageError(
            f"the config.json of '{name}' has no head_dim, and {hidden} is no multiple of {heads} heads",
            fix="give the folder of a causal language model",
        )
    return hidden // heads


def _bytes_per_param(config: Mapping[str, Any], shape: Mapping[str, Any]) -> float:
    """Bytes of an unquantized parameter; vLLM serves float32 checkpoints as 16-bit by default."""
    dtype = shape.get("dtype") or shape.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    return BYTES_PER_PARAM.get(str(dtype), 2.0)


def _quantization(config: Mapping[str, Any]) -> str | None:
    section = config.get("quantization_config")
    if not isinstance(section, Mapping):
        return None
    return str(section.get("quant_method", "unknown"))


def _kv_scales(config: Mapping[str, Any]) -> bool | None:
    """Whether the config promises scales for the KV cache; None where it says nothing of them."""
    section = config.get("quantization_config")
    if not isinstance(section, Mapping):
        return None
    return any(section.get(key) is not None for key in _KV_SCALES) or None


def _uniform(shape: Mapping[str, Any]) -> bool:
    if (
        any(shape.get(key) is not None for key in _OTHER_LAYERS)
        and shape.get("use_sliding_window") is not False
    ):
        return False
    kinds = shape.get("layer_types")
    return not isinstance(kinds, list) or set(kinds) <= {"full_attention"}
