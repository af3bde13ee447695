"""Mixtral: Llama's attention and a mixture of gated experts in every layer.

Owns: its layout. Knows nothing about other mixtures.
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
from serving.planner.families.llama import windows
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape


def build(fields: Fields) -> ModelShape:
    """All experts are resident; a token uses `num_experts_per_tok` of them."""
    heads = read_heads(fields)
    mixture = read_experts(
        fields,
        count=("num_local_experts", "num_experts"),
        used=("num_experts_per_tok",),
        inner=("intermediate_size",),
    )
    tensors = (*attention(heads), *experts(heads.hidden, mixture), *norms(heads.hidden, 2))
    layers = [
        Layer(tensors, AttentionKv(heads.kv, heads.dim, window), heads.query * heads.dim)
        for window in windows(fields, fields.layers())
    ]
    return whole(
        fields,
        layers,
        family="mixtral",
        intermediate=mixture.inner,
        experts=mixture.count,
        experts_per_token=mixture.used,
        everywhere=ALL_AROUND,
    )


FAMILY = Family("mixtral", ("MixtralForCausalLM",), ("mixtral",), build)
