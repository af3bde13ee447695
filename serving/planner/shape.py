"""What a model is made of, as far as memory and time go: its layers' caches and its matrices.

Owns: the types. Knows nothing about config.json (the families read that), number formats, devices or vLLM.
Counts are of elements and heads, never bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["linear", "expert", "embedding", "lookup", "head", "router", "norm"]
"""`linear` and `expert` may be quantized; the others stay 16-bit. Of a `lookup` a token reads one row, and it
is multiplied with nothing."""
Split = Literal["whole", "rows", "cols", "experts", "vocab"]
"""How tensor parallelism divides a tensor: not at all, by output or input features, by experts (whole experts
with expert parallelism, their features else), or by rows of the vocabulary."""


class Tensor(NamedTuple):
    """A matrix of `rows` output features and `cols` input features (1: a vector), `copies` times."""

    name: str
    role: Role
    rows: int
    cols: int = 1
    copies: int = 1
    split: Split = "whole"
    units: int = 0
    """Heads among the rows, which are replicated where there are more ranks; 0: rows divide freely."""
    used: int | None = None
    """Of `copies`, those one token goes through; None: all."""
    held: int = 1
    """Times its bytes that an engine holds: 2 where 16 bits become 32, or where keys stand in for values; 0
    where it leaves them out."""
    repeated: bool = False
    """A shared expert that every rank has whole where whole experts are spread over copies of the model."""
    everywhere: bool = False
    """What stands around the layers: every pipeline stage holds it, not the first or the last alone."""

    @property
    def parameters(self) -> int:
        """All its elements."""
        return self.rows * self.cols * self.copies

    @property
    def active_parameters(self) -> int:
        """The elements that one token is multiplied with."""
        return self.rows * self.cols * (self.copies if self.used is None else self.used)


@dataclass(frozen=True, slots=True)
class AttentionKv:
    """A layer that keeps keys and values: of all tokens, of a sliding window, or of a local chunk."""

    heads: int
    """KV heads, not attention heads."""
    head_dim: int
    window: int | None = None
    """Tokens that are kept; None: all."""
    chunked: bool = False
    """The window is a fixed chunk (Llama 4), not one that slides."""


@dataclass(frozen=True, slots=True)
class LatentKv:
    """A layer of multi-head latent attention: one latent and one rotary key a token, shared by all heads."""

    latent: int
    rope: int


@dataclass(frozen=True, slots=True)
class StateKv:
    """A layer with a state of constant size instead of a cache: Mamba, gated delta net."""

    conv_elements: int
    """Kept in the model's type."""
    recurrent_elements: int
    recurrent_bytes: int
    """Of one element of the recurrent state."""
    heads: int = 1
    """Key heads or groups, which ranks share evenly; 1: every rank has a copy."""
    checkpoints: int = 0
    """States that a step may put aside at a block's end, where prefixes are cached."""


KvLayer = AttentionKv | LatentKv | StateKv


class Layer(NamedTuple):
    """One block of the model."""

    tensors: tuple[Tensor, ...]
    kv: KvLayer | None = None
    """None: nothing is kept (a feed-forward block, or a layer that shares another's cache)."""
    query_dim: int = 0
    """Attention heads * (dimensions of a query + of a value) / 2: multiply-adds of one pair of tokens."""
    cached_query_dim: int = 0
    """The same in decode steps, where MLA works on latents; 0: as `query_dim`."""
    shares: int | None = None
    """The layer whose cache this one reads: both must be of one pipeline stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """One model. `layers` are in order, so that pipeline stages and boundary layers can be told."""

    name: str
    architecture: str
    family: str
    hidden: int
    vocab: int
    max_position: int
    attention_heads: int
    element_bytes: int
    """Of an unquantized element as the engine serves it."""
    layers: tuple[Layer, ...]
    around: tuple[Tensor, ...]
    """Embedding, lm_head (absent where tied) and the last norm."""
    tied: bool
    usual_len: int = 0
    """What vLLM takes for max_model_len where nobody says; 0: `max_position`."""
    experts: int = 0
    experts_per_token: int = 0
    intermediate: int = 0
    """The widest feed-forward activation of one token."""
    quantization: str | None = None
    """The storage of a checkpoint that is quantized already."""
    stored_wide: bool = False
    """The config says that its files hold 32 bits an element, which vLLM loads as 16."""
    ignore: tuple[str, ...] = ()
    """Modules that such a checkpoint keeps in 16 bits."""
    notes: tuple[str, ...] = ()
    """What was taken for granted, or not counted."""

    @property
    def served_len(self) -> int:
        """max_model_len where nobody says."""
        return self.usual_len or self.max_position

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor of the model."""
        yield from self.around
        for layer in self.layers:
            yield from layer.tensors

    @property
    def parameters(self) -> int:
        """All parameters; tied embeddings once."""
        return sum(tensor.parameters for tensor in self.tensors())

    @property
    def active_parameters(self) -> int:
        """Parameters of one token's way through the model, embedding and lm_head included."""
        return sum(tensor.active_parameters for tensor in self.tensors())

    @property
    def embedding_parameters(self) -> int:
        """Of the input embedding."""
        return self.vocab * self.hidden

    @property
    def kind(self) -> str:
        """`dense` or `moe`, and `hybrid` where layers do not all keep the same."""
        kinds = {layer.kv for layer in self.layers if layer.kv}
        words = ["moe" if self.experts else "dense"]
        if any(isinstance(kv, LatentKv) for kv in kinds):
            words.append("mla")
        if len(kinds) > 1:
            words.append("hybrid")
        return " ".join(words)
