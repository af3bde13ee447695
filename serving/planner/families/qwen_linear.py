"""Qwen 3.5 and Qwen3-Next: three layers of gated delta net, which keep a state, to one of gated attention.

Owns: their layout. Knows nothing about the earlier Qwens.
"""

from __future__ import annotations

from serving.planner.families.blocks import (
    Heads,
    attention,
    experts,
    gated_mlp,
    norms,
    read_experts,
    read_heads,
    shared,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.qwen import shared_expert
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape, StateKv, Tensor

LAYER_TYPES = ("linear_attention", "full_attention")
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def build(fields: Fields) -> ModelShape:
    """Dense models."""
    heads, inner = read_heads(fields), fields.count("intermediate_size")
    layers = _layers(fields, heads, gated_mlp(heads.hidden, inner))
    return whole(fields, layers, family="qwen-linear", intermediate=inner, everywhere=("embed_tokens",))


def build_moe(fields: Fields) -> ModelShape:
    """Mixtures, with a shared expert."""
    heads = read_heads(fields)
    mixture = read_experts(
        fields,
        count=("num_experts", "num_local_experts"),
        used=("num_experts_per_tok",),
        inner=("moe_intermediate_size",),
    )
    always = shared(shared_expert(heads.hidden, fields.count("shared_expert_intermediate_size")))
    layers = _layers(fields, heads, (*experts(heads.hidden, mixture), *always))
    # vllm 0.32.0 model_executor/models/qwen3_next.py and qwen3_5.py differ here.
    everywhere = ("embed_tokens", "lm_head") if _next(fields) else ("embed_tokens",)
    return whole(
        fields,
        layers,
        family="qwen-linear",
        intermediate=mixture.inner * mixture.used,
        experts=mixture.count,
        experts_per_token=mixture.used,
        everywhere=everywhere,
    )


def _next(fields: Fields) -> bool:
    names = (*(fields.outer.get("architectures") or ()), str(fields.get("model_type")))
    return any(name in {"Qwen3NextForCausalLM", "qwen3_next"} for name in names)


def _layers(fields: Fields, heads: Heads, forward: tuple[Tensor, ...]) -> list[Layer]:
    count = fields.layers()
    kinds = fields.words("layer_types", LAYER_TYPES, count)
    if kinds is None:
        every = fields.assumed("full_attention_interval", default=4)
        kinds = [LAYER_TYPES[(index + 1) % every == 0] for index in range(count)]
    gated = fields.flag("attn_output_gate", True)
    rest = (*forward, *norms(heads.hidden, 2))
    full = Layer(
        (*attention(heads, qk_norm=True, gated=gated), *rest),
        AttentionKv(heads.kv, heads.dim),
        heads.query * heads.dim,
    )
    tensors, state = _delta_net(fields, heads.hidden)
    linear = Layer((*tensors, *rest), state)
    return [full if kind == "full_attention" else linear for kind in kinds]


def _delta_net(fields: Fields, hidden: int) -> tuple[tuple[Tensor, ...], StateKv]:
    """Source: transformers' Qwen3_5GatedDeltaNet; vllm 0.32.0 mamba_utils.py gated_delta_net_state_shape."""
    value_heads, key_heads = fields.count("linear_num_value_heads"), fields.count("linear_num_key_heads")
    key_dim, value_dim = fields.count("linear_key_head_dim"), fields.count("linear_value_head_dim")
    kernel = fields.count("linear_conv_kernel_dim")
    values, mixed = value_heads * value_dim, 2 * key_heads * key_dim + value_heads * value_dim
    tensors = (
        Tensor("in_proj_qkv", "linear", mixed, hidden, 1, "rows"),
        Tensor("in_proj_z", "linear", values, hidden, 1, "rows"),
        Tensor("in_proj_ba", "linear", 2 * value_heads, hidden, 1, "rows"),
        Tensor("out_proj", "linear", hidden, values, 1, "cols"),
        Tensor("conv1d", "norm", mixed, kernel, 1, "rows"),
        Tensor("dt_bias", "norm", value_heads, 1, 1, "rows"),
        Tensor("a_log", "norm", value_heads, 1, 1, "rows", held=2),
        Tensor("state_norm", "norm", value_dim),
    )
    dtype = "bfloat16" if _next(fields) else fields.get("mamba_ssm_dtype")
    if dtype is None:
        fields.note("mamba_ssm_dtype is not given: float32, as the family's configs have it")
    elif dtype not in BYTES:
        raise fields.error("mamba_ssm_dtype", f"is {dtype!r}", f"give one of {', '.join(BYTES)}")
    size = BYTES[dtype or "float32"]
    return tensors, StateKv(mixed * (kernel - 1), value_heads * value_dim * key_dim, size, key_heads)


FAMILY = Family(
    "qwen3.5",
    ("Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"),
    ("qwen3_5", "qwen3_5_text"),
    build,
)
FAMILY_MOE = Family(
    "qwen3.5-moe",
    ("Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM", "Qwen3NextForCausalLM"),
    ("qwen3_5_moe", "qwen3_5_moe_text", "qwen3_next"),
    build_moe,
)
