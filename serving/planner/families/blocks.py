"""The parts that most models are built of: attention, feed-forward, experts, norms, and what stands around.

Owns: the matrices of each part as vLLM and transformers lay them out. Knows nothing about which model has
which: the families choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from serving.planner.fields import Fields
from serving.planner.positions import read_positions
from serving.planner.shape import Layer, ModelShape, Tensor

ALL_HEADS = ("llama", "phi", "phi3", None)
"""Model types whose configs may leave num_key_value_heads out, for as many as attention heads (Llama 2, Phi).

Source: the classes of transformers; those of other types would take a number of their own. None: no type is
named.
"""


class Heads(NamedTuple):
    """The attention of a layer: hidden size, query heads, KV heads and their dimensions."""

    hidden: int
    query: int
    kv: int
    dim: int


def read_heads(fields: Fields) -> Heads:
    """Heads as most configs say them; head_dim is read.

    Where KV heads are not given, a model of a type that may leave them out has as many as query heads, and
    that is noted. Raises: UsageError for other types.
    """
    hidden = fields.count("hidden_size")
    query = fields.count("num_attention_heads")
    kv = fields.optional("num_key_value_heads")
    if kv is None:
        if fields.get("model_type") not in ALL_HEADS:
            raise fields.error(
                "num_key_value_heads", "is missing", "give the complete config.json of the model"
            )
        kv = query
        fields.note(f"num_key_value_heads is not given: {query}, as many as attention heads")
    dim = fields.optional("head_dim")
    if dim is None:
        if hidden % query:
            raise fields.error(
                "head_dim", f"is missing, and {hidden} is no multiple of {query} heads", "give it"
            )
        dim = hidden // query
    if query % kv:
        raise fields.error(
            "num_key_value_heads", f"is {kv}, which does not divide {query} heads", "correct it"
        )
    return Heads(hidden, query, kv, dim)


def attention(
    heads: Heads,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: bool = False,
    gated: bool = False,
) -> tuple[Tensor, ...]:
    """Query, key, value and output projections. `gated`: queries come with a gate of their own size."""
    wide, narrow = heads.query * heads.dim, heads.kv * heads.dim
    found = [
        Tensor("q_proj", "linear", wide * (2 if gated else 1), heads.hidden, 1, "rows", heads.query),
        Tensor("k_proj", "linear", narrow, heads.hidden, 1, "rows", heads.kv),
        Tensor("v_proj", "linear", narrow, heads.hidden, 1, "rows", heads.kv),
        Tensor("o_proj", "linear", heads.hidden, wide, 1, "cols"),
    ]
    if qkv_bias:
        found.append(Tensor("q_bias", "norm", wide * (2 if gated else 1), 1, 1, "rows", heads.query))
        found.append(Tensor("k_bias", "norm", narrow, 1, 1, "rows", heads.kv))
        found.append(Tensor("v_bias", "norm", narrow, 1, 1, "rows", heads.kv))
    if out_bias:
        found.append(Tensor("o_bias", "norm", heads.hidden))
    if qk_norm:
        found += [Tensor("q_norm", "norm", heads.dim), Tensor("k_norm", "norm", heads.dim)]
    return tuple(found)


def gated_mlp(hidden: int, inner: int, *, bias: bool = False, name: str = "mlp") -> tuple[Tensor, ...]:
    """Gate, up and down: three matrices of hidden * inner."""
    found = [
        Tensor(f"{name}.gate_proj", "linear", inner, hidden, 1, "rows"),
        Tensor(f"{name}.up_proj", "linear", inner, hidden, 1, "rows"),
        Tensor(f"{name}.down_proj", "linear", hidden, inner, 1, "cols"),
    ]
    if bias:
        found += [
            Tensor(f"{name}.bias", "norm", 2 * inner, 1, 1, "rows"),
            Tensor("down_bias", "norm", hidden),
        ]
    return tuple(found)


def plain_mlp(hidden: int, inner: int, *, bias: bool = False, name: str = "mlp") -> tuple[Tensor, ...]:
    """Up and down: two matrices of hidden * inner."""
    found = [
        Tensor(f"{name}.up_proj", "linear", inner, hidden, 1, "rows"),
        Tensor(f"{name}.down_proj", "linear", hidden, inner, 1, "cols"),
    ]
    if bias:
        found += [Tensor(f"{name}.up_bias", "norm", inner, 1, 1, "rows"), Tensor("down_bias", "norm", hidden)]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture: how many experts, how many of them a token uses, and their width."""

    count: int
    used: int
    inner: int
    gated: bool = True


def experts(
    hidden: int, mixture: Experts, *, router_bias: bool = False, correction: bool = False
) -> tuple[Tensor, ...]:
    """The router and all experts of one layer. `correction`: what evens out their load, in 32 bits."""
    matrices = [("up_proj", True), ("down_proj", False)]
    if mixture.gated:
        matrices.insert(0, ("gate_proj", True))
    found = [Tensor("router", "router", mixture.count, hidden)]
    for name, upward in matrices:
        rows, cols = (mixture.inner, hidden) if upward else (hidden, mixture.inner)
        found.append(
            Tensor(f"experts.{name}", "expert", rows, cols, mixture.count, "experts", used=mixture.used)
        )
    if router_bias:
        found.append(Tensor("router_bias", "norm", mixture.count))
    if correction:
        found.append(Tensor("correction_bias", "norm", mixture.count, held=2))
    return tuple(found)


def shared(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Experts that all tokens go through, as most of vLLM's models spread them."""
    return tuple(tensor._replace(repeated=True) for tensor in tensors)


def read_experts(
    fields: Fields, *, count: Sequence[str], used: Sequence[str], inner: Sequence[str]
) -> Experts:
    """A mixture by the keys that a family uses. Raises: UsageError where more are used than there are."""
    found = Experts(fields.count(*count), fields.count(*used), fields.count(*inner))
    if found.used > found.count:
        raise fields.error(used[0], f"is {found.used}, more than the {found.count} experts", "correct it")
    return found


def norms(hidden: int, count: int, *, bias: bool = False) -> tuple[Tensor, ...]:
    """The norms of a layer, one vector each (two with a bias)."""
    return (Tensor("norm", "norm", hidden, 1, count * (2 if bias else 1)),)


ALL_AROUND = ("embed_tokens", "lm_head", "lm_head_bias", "norm")
"""Models whose every pipeline stage makes all that stands around the layers."""


def whole(fields: Fields, layers: Sequence[Layer], **facts: object) -> ModelShape:
    """The model around its layers: embedding, lm_head unless tied, the last norm.

    `facts` are other fields of ModelShape, and `tied_default`, `norm_bias`, `head_bias`, `heads` and
    `common_vocab` where configs of the family leave these out; `everywhere` names what vLLM's model of the
    family makes on every pipeline stage.
    """
    hidden = fields.count("hidden_size")
    common_vocab = _whole_number(facts.pop("common_vocab", None))
    vocab = fields.assumed("vocab_size", default=common_vocab) if common_vocab else fields.count("vocab_size")
    tied = fields.flag("tie_word_embeddings", bool(facts.pop("tied_default", False)))
    around = [Tensor("embed_tokens", "embedding", vocab, hidden, 1, "vocab")]
    if not tied:
        around.append(Tensor("lm_head", "head", vocab, hidden, 1, "vocab"))
    if facts.pop("head_bias", False):
        around.append(Tensor("lm_head_bias", "norm", vocab, 1, 1, "vocab"))
    around += norms(hidden, 1, bias=bool(facts.pop("norm_bias", False)))
    everywhere = facts.pop("everywhere", ())
    assert isinstance(everywhere, tuple)
    around = [part._replace(everywhere=part.name in everywhere) for part in around]
    architectures = fields.outer.get("architectures") or [fields.get("model_type")]
    if fields.outer.get("vision_config") or fields.outer.get("audio_config"):
        fields.note("vision and audio parts are not counted: their files' headers would tell")
    positions = read_positions(fields)
    return ModelShape(
        name=fields.where,
        architecture=str(architectures[0]),
        hidden=hidden,
        vocab=vocab,
        max_position=positions.most,
        usual_len=positions.usual,
        attention_heads=fields.count("num_attention_heads", default=_whole_number(facts.pop("heads", None))),
        element_bytes=2,
        layers=tuple(layers),
        around=tuple(around),
        tied=tied,
        notes=tuple(fields.notes),
        **facts,  # type: ignore[arg-type]  # each family's own words, checked by its tests
    )


def _whole_number(value: object) -> int | None:
    return value if isinstance(value, int) else None
