"""Llama 2 and 3, Mistral, SmolLM and all that is built like them: attention and a gated feed-forward.

Owns: their layout. Knows nothing about Llama 4, which mixes chunked attention and experts.
"""

from __future__ import annotations

from serving.planner.families.blocks import attention, gated_mlp, norms, read_heads, whole
from serving.planner.families.family import Family
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape

LAYER_TYPES = ("full_attention", "sliding_attention")


def windows(fields: Fields, layers: int) -> list[int | None]:
    """The window of each layer: by layer_types where given, else one for all where the config has a window.

    `use_sliding_window: false` switches it off, as in transformers and vLLM.
    """
    window = fields.window() if fields.flag("use_sliding_window", True) else None
    kinds = fields.words("layer_types", LAYER_TYPES, layers)
    if kinds is None:
        return [window] * layers
    if window is None and "sliding_attention" in kinds:
        raise fields.error("sliding_window", "is missing and layer_types has sliding layers", "give it")
    return [window if kind == "sliding_attention" else None for kind in kinds]


def build(fields: Fields) -> ModelShape:
    """Attention with optional biases, a gated feed-forward, two norms."""
    heads, inner = read_heads(fields), fields.count("intermediate_size")
    biased = fields.flag("attention_bias", False)
    tensors = (
        *attention(heads, qkv_bias=biased, out_bias=biased),
        *gated_mlp(heads.hidden, inner, bias=fields.flag("mlp_bias", False)),
        *norms(heads.hidden, 2),
    )
    count = fields.layers()
    layers = [
        Layer(tensors, AttentionKv(heads.kv, heads.dim, window), heads.query * heads.dim)
        for window in windows(fields, count)
    ]
    tied = fields.get("model_type") == "smollm3"
    return whole(fields, layers, family="llama", intermediate=inner, tied_default=tied)


FAMILY = Family(
    "llama",
    (
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Ministral3ForCausalLM",
        "SmolLM3ForCausalLM",
        "Mistral3ForConditionalGeneration",
    ),
    ("llama", "mistral", "ministral", "ministral3", "smollm3", "mistral3"),
    build,
)
