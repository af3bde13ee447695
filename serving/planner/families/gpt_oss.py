"""gpt-oss: windows in every other layer, attention sinks, biases everywhere, experts in MXFP4.

Owns: its layout. Knows nothing about how MXFP4 is stored.
"""

from __future__ import annotations

from serving.planner.families.blocks import (
    ALL_AROUND,
    attention,
    experts,
    norms,
    read_experts,
    read_heads,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.gemma import kinds_of
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape, Tensor


def build(fields: Fields) -> ModelShape:
    """Windows from the first layer on. Source: transformers' GptOssConfig and modeling_gpt_oss.py."""
    heads = read_heads(fields)
    mixture = read_experts(
        fields,
        count=("num_local_experts", "num_experts"),
        used=("num_experts_per_tok", "experts_per_token"),
        inner=("intermediate_size",),
    )
    kinds = kinds_of(fields, every=2)
    window = fields.assumed("sliding_window", default=128)
    used = mixture.used
    biases = (
        Tensor("experts.gate_up_bias", "norm", 2 * mixture.inner, 1, mixture.count, "experts", used=used),
        Tensor("experts.down_bias", "norm", heads.hidden, 1, mixture.count, "experts", used=used),
    )
    tensors = (
        *attention(heads, qkv_bias=True, out_bias=True),
        Tensor("sinks", "norm", heads.query, 1, 1, "rows"),
        *experts(heads.hidden, mixture, router_bias=True),
        *biases,
        *norms(heads.hidden, 2),
    )
    layers = [
        Layer(
            tensors,
            AttentionKv(heads.kv, heads.dim, window if kind == "sliding_attention" else None),
            heads.query * heads.dim,
        )
        for kind in kinds
    ]
    return whole(
        fields,
        layers,
        family="gpt-oss",
        intermediate=mixture.inner * mixture.used,
        experts=mixture.count,
        experts_per_token=mixture.used,
        everywhere=ALL_AROUND,
    )


FAMILY = Family("gpt-oss", ("GptOssForCausalLM",), ("gpt_oss",), build)
