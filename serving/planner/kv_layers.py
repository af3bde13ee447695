"""What each layer keeps of a token or a request, in bytes, for every number format of the cache.

Owns: the bytes of one layer, the exceptions of formats (boundary layers, latents, what a CPU really stores),
and the sums over a model. Knows nothing about blocks or groups: `kv_groups` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from serving.errors import UsageError
from serving.facts.formats import KvFormat
from serving.facts.storage import LatentStorage
from serving.planner.shape import AttentionKv, KvLayer, LatentKv, ModelShape, StateKv

ALIASES = {"auto": "bfloat16", "bf16": "bfloat16", "fp16": "float16"}
PLAIN = ("bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2")
"""Formats without scales of their own: all that MLA's latent can be stored in, but for its own format."""


class KvStorage(NamedTuple):
    """How the cache is stored: in a format for keys and values, or one of MLA's own for latents."""

    name: str
    values: KvFormat
    latents: LatentStorage | None = None


def kv_storage(
    name: str, formats: Mapping[str, KvFormat], latents: Mapping[str, LatentStorage], *, device: str
) -> KvStorage:
    """The storage by the name that --kv-cache-dtype takes. Raises: UsageError.

    On CPU vLLM 0.32.0 accepts every format and stores those it has no kernel for as one byte an element,
    without scales: 186,368 tokens for int4_per_token_head as for fp8 (measured).
    """
    name = ALIASES.get(name, name)
    if name in latents:
        return KvStorage(name, formats["bfloat16"], latents[name])
    if name not in formats:
        from difflib import get_close_matches

        known = [*ALIASES, *formats, *latents]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
        raise UsageError(f"'{name}' is no format of a KV cache", where="--kv-format", fix=hint)
    row = formats[name]
    if device == "cpu" and row.quantized and "cpu" not in row.devices:
        row = replace(row, key_bits=8, value_bits=8, head_bytes=0, group=0, group_bytes=0, even=False)
    return KvStorage(name, row)


def token_bytes(layer: KvLayer, storage: KvStorage, *, tensor: int = 1, native: bool = False) -> int:
    """Bytes that one rank keeps of one token in one layer; 0 for states, which do not grow.

    Formula: max(1, kv_heads // tensor) * bytes of a head; MLA: one latent and one rotary key on every rank.
    `native` layers keep the model's 16 bits. Source: vllm 0.32.0 v1/kv_cache_interface.py, config/model.py
    get_num_kv_heads.
    """
    if isinstance(layer, StateKv):
        return 0
    if isinstance(layer, LatentKv):
        return _latent_bytes(layer, storage)
    heads = max(1, layer.heads // tensor)
    if native or storage.latents:
        return heads * layer.head_dim * 4
    return heads * storage.values.bytes_per_head(layer.head_dim)


def _latent_bytes(layer: LatentKv, storage: KvStorage) -> int:
    if storage.latents:
        return storage.latents.token_bytes(layer.latent, layer.rope)
    if storage.name not in PLAIN:
        raise UsageError(
            f"'{storage.name}' cannot hold the latents of an MLA model",
            where="--kv-format",
            fix="use bf16, fp8 or fp8_ds_mla",
        )
    return -(-(layer.latent + layer.rope) * storage.values.key_bits // 8)


def state_bytes(layer: StateKv, *, tensor: int = 1, element_bytes: int = 2) -> int:
    """Bytes of one request's state in one layer on one rank.

    Formula: convolution window in the model's type + recurrent state. Source: vllm 0.32.0
    model_executor/layers/mamba/mamba_utils.py.
    """
    convolution = -(-layer.conv_elements // tensor) * element_bytes
    return convolution + -(-layer.recurrent_elements // tensor) * layer.recurrent_bytes


def boundary(shape: ModelShape, storage: KvStorage) -> frozenset[int]:
    """Indices of the layers that keep 16 bits in a format that spares the first and last ones.

    Models with states spare none. Source: vllm 0.32.0 turboquant/config.py get_boundary_skip_layers.
    """
    count = len(shape.layers)
    spared = min(storage.values.boundary_layers, count // 2)
    if not spared or any(isinstance(layer.kv, StateKv) for layer in shape.layers):
        return frozenset()
    return frozenset([*range(spared), *range(count - spared, count)])


class KvBytes(NamedTuple):
    """The cache of the whole model, all ranks' distinct parts together, without rounding to blocks."""

    growing_per_token: int
    """Of layers that keep every token."""
    window_per_token: int
    """Of layers with a window, while inside it."""
    window_full: int
    """Of a request whose windows are full."""
    states: int
    """Of a request, whatever its length."""

    def at(self, tokens: int) -> int:
        """Bytes of one request of so many tokens."""
        inside = min(self.window_full, self.window_per_token * tokens)
        return self.growing_per_token * tokens + inside + self.states


def kv_bytes(shape: ModelShape, storage: KvStorage, *, tensor: int = 1) -> KvBytes:
    """Sum the layers: for the whole model (`tensor` 1), or for one rank of so many."""
    native = boundary(shape, storage)
    growing = window = full = states = 0
    for index, layer in enumerate(shape.layers):
        if layer.kv is None:
            continue
        each = token_bytes(layer.kv, storage, tensor=tensor, native=index in native)
        if isinstance(layer.kv, StateKv):
            states += state_bytes(layer.kv, tensor=tensor, element_bytes=shape.element_bytes)
        elif isinstance(layer.kv, AttentionKv) and layer.kv.window:
            window += each
            full += each * layer.kv.window
        else:
            growing += each
    return KvBytes(growing, window, full, states)
