"""Phi: 3 and 4 are laid out like Llama; 1, 1.5 and 2 have biases and a plain feed-forward; 3.5-MoE is a
mixture.

Owns: their layout. Knows nothing about Phi's vision and audio parts.
"""

from __future__ import annotations

from dataclasses import replace

from serving.planner.families.blocks import (
    ALL_AROUND,
    attention,
    experts,
    gated_mlp,
    norms,
    plain_mlp,
    read_experts,
    read_heads,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.llama import windows
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape


def build_3(fields: Fields) -> ModelShape:
    """Phi 3 and 4: fused matrices of Llama's sizes, no biases."""
    heads, inner = read_heads(fields), fields.count("intermediate_size")
    tensors = (*attention(heads), *gated_mlp(heads.hidden, inner), *norms(heads.hidden, 2))
    layers = [
        Layer(tensors, AttentionKv(heads.kv, heads.dim, window), heads.query * heads.dim)
        for window in windows(fields, fields.layers())
    ]
    return whole(fields, layers, family="phi", intermediate=inner)


def build_2(fields: Fields) -> ModelShape:
    """Phi 1, 1.5 and 2: one norm for attention and feed-forward side by side, biases everywhere."""
    heads = read_heads(fields)
    inner = fields.count("intermediate_size")
    tensors = (
        *attention(heads, qkv_bias=True, out_bias=True),
        *plain_mlp(heads.hidden, inner, bias=True),
        *norms(heads.hidden, 1, bias=True),
    )
    layer = Layer(tensors, AttentionKv(heads.kv, heads.dim), heads.query * heads.dim)
    shape = whole(
        fields, [layer] * fields.layers(), family="phi", intermediate=inner, norm_bias=True, head_bias=True
    )
    # vLLM 0.32.0 serves these by transformers' class, and gives lm_head no bias.
    around = [part._replace(held=0) if part.name == "lm_head_bias" else part for part in shape.around]
    return replace(shape, around=tuple(around))


def build_moe(fields: Fields) -> ModelShape:
    """Phi 3.5 as a mixture."""
    heads = read_heads(fields)
    biased = fields.flag("attention_bias", False)
    mixture = read_experts(
        fields, count=("num_local_experts",), used=("num_experts_per_tok",), inner=("intermediate_size",)
    )
    tensors = (
        *attention(heads, qkv_bias=biased, out_bias=biased),
        *experts(heads.hidden, mixture),
        *norms(heads.hidden, 2, bias=True),
    )
    layers = [
        Layer(tensors, AttentionKv(heads.kv, heads.dim, window), heads.query * heads.dim)
        for window in windows(fields, fields.layers())
    ]
    return whole(
        fields,
        layers,
        family="phi",
        intermediate=mixture.inner * mixture.used,
        experts=mixture.count,
        experts_per_token=mixture.used,
        norm_bias=True,
        everywhere=ALL_AROUND,
        head_bias=fields.flag("lm_head_bias", False),
    )


FAMILY_3 = Family("phi3", ("Phi3ForCausalLM",), ("phi3",), build_3)
FAMILY_2 = Family("phi", ("PhiForCausalLM",), ("phi",), build_2)
FAMILY_MOE = Family("phimoe", ("PhiMoEForCausalLM", "PhimoeForCausalLM"), ("phimoe",), build_moe)
