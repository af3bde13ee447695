"""DeepSeek V2, V3 and Kimi K2: latent attention (MLA), a few dense layers, then experts with shared ones.

Owns: their layout. Knows nothing about DeepSeek V3.2 and later, whose sparse attention keeps an index as
well.
"""

from __future__ import annotations

from typing import NamedTuple

from serving.planner.families.blocks import experts, gated_mlp, norms, read_experts, shared, whole
from serving.planner.families.family import Family
from serving.planner.fields import Fields
from serving.planner.shape import LatentKv, Layer, ModelShape, Tensor


class Latent(NamedTuple):
    """The dimensions of latent attention."""

    hidden: int
    heads: int
    query_rank: int | None
    rank: int
    nope: int
    rope: int
    value: int


def build(fields: Fields) -> ModelShape:
    """The layers of multi-token prediction are extra, and not loaded unless speculation asks for them."""
    latent = Latent(
        fields.count("hidden_size"),
        fields.count("num_attention_heads"),
        fields.optional("q_lora_rank"),
        fields.count("kv_lora_rank"),
        fields.count("qk_nope_head_dim"),
        fields.count("qk_rope_head_dim"),
        fields.count("v_head_dim"),
    )
    parts = (*mla(latent), *norms(latent.hidden, 2))
    count = fields.layers()
    dense_layers = fields.count("first_k_dense_replace", default=0, least=0)
    dense = (*parts, *gated_mlp(latent.hidden, fields.count("intermediate_size")))
    mixture = read_experts(
        fields,
        count=("n_routed_experts", "num_local_experts"),
        used=("num_experts_per_tok",),
        inner=("moe_intermediate_size",),
    )
    wide = mixture.inner * fields.count("n_shared_experts", default=1, least=0)
    sparse = (*parts, *experts(latent.hidden, mixture, correction=_corrected(fields)))
    if wide:
        sparse = (*sparse, *shared(gated_mlp(latent.hidden, wide, name="shared_experts")))
    kept = LatentKv(latent.rank, latent.rope)
    pair = latent.heads * (latent.nope + latent.rope + latent.value) // 2
    absorbed = latent.heads * (2 * latent.rank + latent.rope) // 2
    layers = [
        Layer(dense if index < dense_layers else sparse, kept, pair, absorbed) for index in range(count)
    ]
    if fields.count("num_nextn_predict_layers", default=0, least=0):
        fields.note("the layers for multi-token prediction are not counted")
    return whole(
        fields,
        layers,
        family="deepseek",
        intermediate=max(fields.count("intermediate_size"), mixture.inner * mixture.used + wide),
        experts=mixture.count,
        experts_per_token=mixture.used,
    )


def _corrected(fields: Fields) -> bool:
    """Whether routers have a bias that evens out the load: from V3 on, and where topk_method says so."""
    method = fields.get("topk_method")
    if method is not None:
        return bool(method == "noaux_tc")
    names = (*(fields.outer.get("architectures") or ()), str(fields.get("model_type")))
    return not any(name in {"DeepseekV2ForCausalLM", "deepseek_v2"} for name in names)


def mla(latent: Latent) -> tuple[Tensor, ...]:
    """The matrices of latent attention; what makes the latent is held by every rank.

    Source: vllm 0.32.0 model_executor/models/deepseek_v2.py DeepseekV2MLAAttention.
    """
    wide = latent.heads * (latent.nope + latent.rope)
    if latent.query_rank is None:
        query: tuple[Tensor, ...] = (
            Tensor("q_proj", "linear", wide, latent.hidden, 1, "rows", latent.heads),
        )
    else:
        query = (
            Tensor("q_a_proj", "linear", latent.query_rank, latent.hidden),
            Tensor("q_a_norm", "norm", latent.query_rank),
            Tensor("q_b_proj", "linear", wide, latent.query_rank, 1, "rows", latent.heads),
        )
    both = latent.heads * (latent.nope + latent.value)
    return (
        *query,
        Tensor("kv_a_proj_with_mqa", "linear", latent.rank + latent.rope, latent.hidden),
        Tensor("kv_a_norm", "norm", latent.rank),
        Tensor("kv_b_proj", "linear", both, latent.rank, 1, "rows", latent.heads),
        Tensor("o_proj", "linear", latent.hidden, latent.heads * latent.value, 1, "cols"),
    )


FAMILY = Family(
    "deepseek",
    ("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "KimiK2ForCausalLM"),
    ("deepseek_v2", "deepseek_v3", "kimi_k2"),
    build,
)
