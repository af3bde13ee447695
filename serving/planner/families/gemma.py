"""Gemma 2 and 3: sliding windows in most layers, four norms a layer, tied embeddings.

Owns: their layout. Knows nothing about Gemma 4.
"""

from __future__ import annotations

from serving.planner.families.blocks import ALL_AROUND, Heads, attention, gated_mlp, norms, whole
from serving.planner.families.family import Family
from serving.planner.families.llama import LAYER_TYPES
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape


def build_2(fields: Fields) -> ModelShape:
    """Gemma 2: every other layer has a window, from the first."""
    return _build(fields, every=2, qk_norm=False)


def build_3(fields: Fields) -> ModelShape:
    """Gemma 3: every sixth layer is full; norms on query and key."""
    every = fields.count("sliding_window_pattern", "_sliding_window_pattern", default=6)
    return _build(fields, every=every, qk_norm=True)


def heads_of(fields: Fields) -> Heads:
    """Heads with the defaults that Gemma's configs leave out (transformers' Gemma3TextConfig)."""
    return Heads(
        fields.count("hidden_size"),
        fields.assumed("num_attention_heads", default=8),
        fields.assumed("num_key_value_heads", default=4),
        fields.assumed("head_dim", default=256),
    )


def kinds_of(fields: Fields, *, every: int) -> list[str]:
    """The kind of each layer: as layer_types says, else every so many-th is full."""
    count = fields.layers()
    listed = fields.words("layer_types", LAYER_TYPES, count)
    return listed or [LAYER_TYPES[(index + 1) % every != 0] for index in range(count)]


def _build(fields: Fields, *, every: int, qk_norm: bool) -> ModelShape:
    heads, inner = heads_of(fields), fields.count("intermediate_size")
    kinds = kinds_of(fields, every=every)
    window = fields.assumed("sliding_window", default=4096)
    biased = fields.flag("attention_bias", False)
    tensors = (
        *attention(heads, qkv_bias=biased, out_bias=biased, qk_norm=qk_norm),
        *gated_mlp(heads.hidden, inner),
        *norms(heads.hidden, 4),
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
        family="gemma",
        intermediate=inner,
        tied_default=True,
        everywhere=ALL_AROUND,
        heads=heads.query,
        common_vocab=262208 if qk_norm else None,
    )


FAMILY_2 = Family("gemma2", ("Gemma2ForCausalLM",), ("gemma2",), build_2)
FAMILY_3 = Family(
    "gemma3",
    ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
    ("gemma3", "gemma3_text"),
    build_3,
)
