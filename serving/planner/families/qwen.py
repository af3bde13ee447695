"""Qwen 2, 2.5 and 3, dense and as mixtures: biases on query, key and value (2) or norms on query and key (3).

Owns: their layout. Knows nothing about Qwen 3.5, most of whose layers keep a state.
"""

from __future__ import annotations

from serving.planner.families.blocks import (
    ALL_AROUND,
    Heads,
    attention,
    experts,
    gated_mlp,
    norms,
    read_experts,
    read_heads,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.llama import LAYER_TYPES
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape, Tensor


def build_2(fields: Fields) -> ModelShape:
    """Qwen 2 and 2.5: a bias on query, key and value, none on the output."""
    heads = read_heads(fields)
    return _dense(fields, heads, attention(heads, qkv_bias=True))


def build_3(fields: Fields) -> ModelShape:
    """Qwen 3: norms on query and key."""
    heads = read_heads(fields)
    biased = fields.flag("attention_bias", False)
    return _dense(fields, heads, attention(heads, qkv_bias=biased, out_bias=biased, qk_norm=True))


def build_2_moe(fields: Fields) -> ModelShape:
    """Qwen 2 as a mixture, with a shared expert behind a gate of its own."""
    heads = read_heads(fields)
    shared = fields.count("shared_expert_intermediate_size")
    return _mixture(fields, heads, attention(heads, qkv_bias=True), shared_expert(heads.hidden, shared))


def build_3_moe(fields: Fields) -> ModelShape:
    """Qwen 3 as a mixture, without shared experts."""
    heads = read_heads(fields)
    biased = fields.flag("attention_bias", False)
    return _mixture(fields, heads, attention(heads, qkv_bias=biased, out_bias=biased, qk_norm=True), ())


def shared_expert(hidden: int, inner: int) -> tuple[Tensor, ...]:
    """An expert that every token goes through, and the gate that weighs it."""
    return (
        *gated_mlp(hidden, inner, name="shared_expert"),
        Tensor("shared_expert_gate", "router", 1, hidden),
    )


def _windows(fields: Fields, layers: int) -> list[int | None]:
    """Off unless use_sliding_window; then the layers from max_window_layers on, or as layer_types says."""
    window = fields.window() if fields.flag("use_sliding_window", False) else None
    kinds = fields.words("layer_types", LAYER_TYPES, layers)
    if window is None:
        return [None] * layers
    if kinds is None:
        first = fields.count("max_window_layers", default=layers, least=0)
        return [window if index >= first else None for index in range(layers)]
    return [window if kind == "sliding_attention" else None for kind in kinds]


def _dense(fields: Fields, heads: Heads, parts: tuple[Tensor, ...]) -> ModelShape:
    inner = fields.count("intermediate_size")
    tensors = (*parts, *gated_mlp(heads.hidden, inner), *norms(heads.hidden, 2))
    layers = [
        Layer(tensors, AttentionKv(heads.kv, heads.dim, window), heads.query * heads.dim)
        for window in _windows(fields, fields.layers())
    ]
    return whole(fields, layers, family="qwen", intermediate=inner)


def _mixture(
    fields: Fields, heads: Heads, parts: tuple[Tensor, ...], shared: tuple[Tensor, ...]
) -> ModelShape:
    mixture = read_experts(
        fields,
        count=("num_experts", "num_local_experts"),
        used=("num_experts_per_tok",),
        inner=("moe_intermediate_size",),
    )
    step = fields.count("decoder_sparse_step", default=1)
    alone = fields.get("mlp_only_layers") or []
    sparse = (*parts, *experts(heads.hidden, mixture), *shared, *norms(heads.hidden, 2))
    has_dense = bool(alone) or step > 1
    inner = fields.count("intermediate_size") if has_dense else 1
    dense = (*parts, *gated_mlp(heads.hidden, inner), *norms(heads.hidden, 2))
    layers = [
        Layer(
            dense if index in alone or (index + 1) % step else sparse,
            AttentionKv(heads.kv, heads.dim, window),
            heads.query * heads.dim,
        )
        for index, window in enumerate(_windows(fields, fields.layers()))
    ]
    return whole(
        fields,
        layers,
        family="qwen-moe",
        intermediate=mixture.inner * mixture.used,
        experts=mixture.count,
        experts_per_token=mixture.used,
        everywhere=ALL_AROUND,
    )


FAMILY_2 = Family("qwen2", ("Qwen2ForCausalLM",), ("qwen2",), build_2)
FAMILY_2_MOE = Family("qwen2-moe", ("Qwen2MoeForCausalLM",), ("qwen2_moe",), build_2_moe)
FAMILY_3 = Family("qwen3", ("Qwen3ForCausalLM",), ("qwen3",), build_3)
FAMILY_3_MOE = Family("qwen3-moe", ("Qwen3MoeForCausalLM",), ("qwen3_moe",), build_3_moe)
