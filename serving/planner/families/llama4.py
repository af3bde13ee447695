"""Llama 4: three layers of chunked attention to one of full attention, and experts with a shared one.

Owns: its layout. Knows nothing about Llama 2 and 3.
"""

from __future__ import annotations

from serving.planner.families.blocks import (
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
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape

LAYER_TYPES = ("full_attention", "chunked_attention")


def build(fields: Fields) -> ModelShape:
    """Layers with rotary embeddings attend within a chunk, the others to everything.

    Source: transformers' Llama4TextConfig; vllm 0.32.0 model_executor/models/llama4.py.
    """
    heads = read_heads(fields)
    mixture = read_experts(
        fields, count=("num_local_experts",), used=("num_experts_per_tok",), inner=("intermediate_size",)
    )
    count = fields.layers()
    step = fields.assumed("interleave_moe_layer_step", default=1)
    biased = fields.flag("attention_bias", False)
    parts = attention(heads, qkv_bias=biased, out_bias=biased)
    sparse = (
        *parts,
        *experts(heads.hidden, mixture),
        *shared(gated_mlp(heads.hidden, mixture.inner, name="shared_expert")),
        *norms(heads.hidden, 2),
    )
    inner = fields.count("intermediate_size_mlp") if step > 1 else 1
    dense = (*parts, *gated_mlp(heads.hidden, inner), *norms(heads.hidden, 2))
    layers = [
        Layer(
            dense if (index + 1) % step else sparse,
            AttentionKv(heads.kv, heads.dim, chunk, chunked=chunk is not None),
            heads.query * heads.dim,
        )
        for index, chunk in enumerate(_chunks(fields, count))
    ]
    return whole(
        fields,
        layers,
        family="llama4",
        intermediate=max(mixture.inner * (mixture.used + 1), inner),
        experts=mixture.count,
        experts_per_token=mixture.used,
    )


def _chunks(fields: Fields, count: int) -> list[int | None]:
    chunk = fields.assumed("attention_chunk_size", default=8192)
    kinds = fields.words("layer_types", LAYER_TYPES, count)
    if kinds is not None:
        return [chunk if kind == "chunked_attention" else None for kind in kinds]
    rotary = fields.get("no_rope_layers") or []
    if not rotary:
        every = fields.assumed("no_rope_layer_interval", default=4)
        rotary = [int((index + 1) % every != 0) for index in range(count)]
    if len(rotary) != count:
        raise fields.error("no_rope_layers", f"has {len(rotary)} entries for {count} layers", "correct it")
    return [chunk if has_rope else None for has_rope in rotary]


FAMILY = Family(
    "llama4", ("Llama4ForConditionalGeneration", "Llama4ForCausalLM"), ("llama4", "llama4_text"), build
)
