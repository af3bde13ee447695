"""Gemma 4: windows with many small heads, full layers with few wide ones, shared caches, experts in some
sizes.

Owns: its layout. Knows nothing about Gemma 2 and 3.
"""

from __future__ import annotations

from dataclasses import replace

from serving.planner.families.blocks import (
    ALL_AROUND,
    Experts,
    Heads,
    attention,
    experts,
    gated_mlp,
    norms,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.gemma import heads_of, kinds_of
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape, Tensor


def build(fields: Fields) -> ModelShape:
    """Source: transformers' Gemma4TextConfig and modeling_gemma4.py."""
    narrow = heads_of(fields)
    kinds = kinds_of(fields, every=6)
    kinds[-1] = "full_attention"
    wide = _wide(fields, narrow)
    window = fields.assumed("sliding_window", default=512)
    # Full layers whose values are their keys have no value projection; the cache still holds both.
    equal = fields.flag("attention_k_eq_v", fields.get("num_global_key_value_heads") is not None)
    shared = fields.count("num_kv_shared_layers", default=0, least=0)
    first_shared = len(kinds) - shared
    last = {kind: index for index, kind in enumerate(kinds[:first_shared])}
    layers = []
    for index, kind in enumerate(kinds):
        heads = wide if kind == "full_attention" else narrow
        keeps = index < first_shared
        parts = attention(heads, qk_norm=True)
        dropped = {"v_proj"} if equal and kind == "full_attention" else set()
        dropped |= set() if keeps else {"k_proj", "v_proj", "k_norm"}
        # vLLM loads such keys a second time, as the values of its fused matrix.
        parts = tuple(
            part._replace(held=2) if part.name == "k_proj" and "v_proj" in dropped else part
            for part in parts
            if part.name not in dropped
        )
        tensors = (*parts, *_forward(fields, heads, keeps))
        kept = AttentionKv(heads.kv, heads.dim, window if kind == "sliding_attention" else None)
        source = None if keeps else last.get(kind)
        layers.append(Layer(tensors, kept if keeps else None, heads.query * heads.dim, shares=source))
    if shared:
        fields.note(f"the last {shared} layers read the cache of earlier ones")
    facts: dict[str, object] = {"family": "gemma4", "tied_default": True, "heads": narrow.query}
    facts["everywhere"] = ALL_AROUND
    if _mixture(fields):
        facts |= {"experts": fields.count("num_experts"), "experts_per_token": _used(fields)}
    shape = whole(fields, layers, intermediate=fields.count("intermediate_size"), **facts)
    return replace(shape, around=(*shape.around, *_per_layer_inputs(fields, len(kinds))))


def _wide(fields: Fields, narrow: Heads) -> Heads:
    dim = fields.assumed("global_head_dim", default=512)
    kv = fields.optional("num_global_key_value_heads") or narrow.kv
    return Heads(narrow.hidden, narrow.query, kv, dim)


def _mixture(fields: Fields) -> bool:
    return fields.flag("enable_moe_block", fields.get("num_experts") is not None)


def _used(fields: Fields) -> int:
    return fields.assumed("top_k_experts", "num_experts_per_tok", default=8)


def _forward(fields: Fields, heads: Heads, keeps: bool) -> tuple[Tensor, ...]:
    hidden, inner = heads.hidden, fields.count("intermediate_size")
    doubled = not keeps and fields.flag("use_double_wide_mlp", False)
    found = [
        *gated_mlp(hidden, inner * 2 if doubled else inner),
        *norms(hidden, 4),
        Tensor("scalar", "norm", 1),
    ]
    if _mixture(fields):
        count = fields.count("num_experts")
        mixture = Experts(count, min(_used(fields), count), fields.count("moe_intermediate_size"))
        found += [*experts(hidden, mixture), *norms(hidden, 3)]
        found += [Tensor("router_scale", "norm", hidden), Tensor("expert_scale", "norm", mixture.count)]
    width = _input_width(fields)
    if width:
        found.append(Tensor("per_layer_input_gate", "linear", width, hidden))
        found += [Tensor("per_layer_projection", "linear", hidden, width), *norms(hidden, 1)]
    return tuple(found)


def _input_width(fields: Fields) -> int:
    return fields.count("hidden_size_per_layer_input", default=0, least=0)


def _per_layer_inputs(fields: Fields, layers: int) -> tuple[Tensor, ...]:
    """A second embedding with a vector for every layer, where the model has one."""
    width = _input_width(fields)
    if not width:
        return ()
    vocab = fields.count("vocab_size_per_layer_input", "vocab_size")
    return (
        Tensor(
            "embed_tokens_per_layer",
            "lookup",
            vocab,
            layers * width,
            split="vocab",
            used=0,
            everywhere=True,
        ),
        Tensor(
            "per_layer_model_projection",
            "linear",
            layers * width,
            fields.count("hidden_size"),
            split="rows",
            everywhere=True,
        ),
        Tensor("per_layer_norm", "norm", width, everywhere=True),
    )


FAMILY = Family(
    "gemma4",
    ("Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"),
    ("gemma4", "gemma4_text"),
    build,
)
