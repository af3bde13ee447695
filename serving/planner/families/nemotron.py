"""Nemotron, and Nemotron-H, whose blocks are each one thing: Mamba 2, attention, feed-forward or experts.

Owns: their layout. Knows nothing about other Mamba hybrids.
"""

from __future__ import annotations

from serving.planner.families.blocks import (
    ALL_AROUND,
    Experts,
    attention,
    experts,
    norms,
    plain_mlp,
    read_heads,
    shared,
    whole,
)
from serving.planner.families.family import Family
from serving.planner.families.qwen_linear import BYTES
from serving.planner.fields import Fields
from serving.planner.shape import AttentionKv, Layer, ModelShape, StateKv, Tensor

PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
WORDS = {
    "mamba": "mamba",
    "linear_attention": "mamba",
    "attention": "attention",
    "full_attention": "attention",
}
WORDS |= {"mlp": "mlp", "moe": "moe"}


def build(fields: Fields) -> ModelShape:
    """Nemotron 4: a plain feed-forward, norms with a bias."""
    heads, inner = read_heads(fields), fields.count("intermediate_size")
    biased = fields.flag("attention_bias", False)
    tensors = (
        *attention(heads, qkv_bias=biased, out_bias=biased),
        *plain_mlp(heads.hidden, inner, bias=fields.flag("mlp_bias", False)),
        *norms(heads.hidden, 2, bias=True),
    )
    layer = Layer(tensors, AttentionKv(heads.kv, heads.dim), heads.query * heads.dim)
    return whole(fields, [layer] * fields.layers(), family="nemotron", intermediate=inner, norm_bias=True)


def build_hybrid(fields: Fields) -> ModelShape:
    """Nemotron-H: one block a layer by its pattern. Source: transformers' NemotronHConfig and modeling."""
    kinds = _kinds(fields)
    heads = read_heads(fields)
    blocks = {"attention": Layer(
        (*attention(heads), *norms(heads.hidden, 1)),
        AttentionKv(heads.kv, heads.dim),
        heads.query * heads.dim,
    )}  # fmt: skip
    if "mamba" in kinds:
        blocks["mamba"] = _mamba(fields, heads.hidden)
    inner = fields.count("intermediate_size") if "mlp" in kinds else 0
    if "mlp" in kinds:
        parts = plain_mlp(heads.hidden, inner, bias=fields.flag("mlp_bias", False))
        blocks["mlp"] = Layer((*parts, *norms(heads.hidden, 1)))
    facts: dict[str, object] = {}
    if "moe" in kinds:
        mixture = Experts(
            fields.count("n_routed_experts", "num_local_experts"),
            fields.count("num_experts_per_tok"),
            fields.count("moe_intermediate_size"),
            gated=False,
        )
        blocks["moe"] = _experts(fields, heads.hidden, mixture)
        facts = {"experts": mixture.count, "experts_per_token": mixture.used}
        inner = max(inner, mixture.inner * mixture.used)
    layers = [blocks[kind] for kind in kinds]
    return whole(fields, layers, family="nemotron-h", intermediate=inner, everywhere=ALL_AROUND, **facts)


def _kinds(fields: Fields) -> list[str]:
    pattern = fields.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        unknown = sorted(set(pattern) - set(PATTERN))
        if unknown:
            raise fields.error("hybrid_override_pattern", f"has {unknown[0]!r}", "use M, *, - and E")
        kinds = [PATTERN[letter] for letter in pattern]
        told = fields.get("num_hidden_layers")
        if told is not None and told != len(kinds):
            what = f"has {len(kinds)} letters for {told} layers"
            raise fields.error("hybrid_override_pattern", what, "give one letter for each layer")
        return kinds
    key = "layers_block_type" if fields.get("layers_block_type") else "layer_types"
    listed = fields.get(key)
    if not isinstance(listed, list) or not listed:
        raise fields.error(
            "hybrid_override_pattern",
            "is missing, so it cannot be told which layers keep a cache and which a state",
            "give the complete config.json (hybrid_override_pattern or layers_block_type)",
        )
    return [WORDS[word] for word in fields.words(key, tuple(WORDS), len(listed)) or ()]


def _mamba(fields: Fields, hidden: int) -> Layer:
    """Source: transformers' NemotronHMamba2Mixer; vllm 0.32.0 mamba_utils.py mamba2_state_shape."""
    heads, dim = fields.count("mamba_num_heads"), fields.count("mamba_head_dim")
    state, kernel = fields.count("ssm_state_size"), fields.count("conv_kernel", "mamba_d_conv")
    inner = heads * dim
    groups = fields.count("n_groups", "mamba_n_groups")
    mixed = inner + 2 * groups * state
    bias = fields.flag("use_conv_bias", True)
    tensors = (
        Tensor("in_proj", "linear", inner + mixed + heads, hidden, 1, "rows"),
        Tensor("out_proj", "linear", hidden, inner, 1, "cols"),
        Tensor("conv1d", "norm", mixed, kernel + int(bias), 1, "rows"),
        Tensor("dt_d", "norm", heads, 2, 1, "rows"),
        Tensor("a", "norm", heads, 1, 1, "rows", held=2),
        Tensor("gate_norm", "norm", inner, 1, 1, "rows"),
        *norms(hidden, 1),
    )
    dtype = str(fields.get("mamba_ssm_cache_dtype") or "float32")
    if dtype not in BYTES:
        raise fields.error("mamba_ssm_cache_dtype", f"is {dtype!r}", f"give one of {', '.join(BYTES)}")
    kept = StateKv(mixed * (kernel - 1), heads * dim * state, BYTES[dtype], groups, checkpoints=1)
    return Layer(tensors, kept)


def _experts(fields: Fields, hidden: int, mixture: Experts) -> Layer:
    """Routed experts, which may work on a latent of the hidden size, and shared ones."""
    latent = fields.optional("moe_latent_size")
    width = latent or hidden
    tensors = list(experts(width, mixture, correction=True))
    tensors[0] = Tensor("router", "router", mixture.count, hidden)
    number = fields.count("n_shared_experts", default=1, least=0)
    if number:
        inner = fields.count("moe_shared_expert_intermediate_size") * number
        tensors += shared(plain_mlp(hidden, inner, name="shared_experts"))
    if latent:
        tensors += [
            Tensor("fc1_latent_proj", "linear", latent, hidden),
            Tensor("fc2_latent_proj", "linear", hidden, latent),
        ]
    return Layer((*tensors, *norms(hidden, 1)))


FAMILY = Family("nemotron", ("NemotronForCausalLM",), ("nemotron",), build)
FAMILY_HYBRID = Family("nemotron-h", ("NemotronHForCausalLM",), ("nemotron_h",), build_hybrid)
