"""How many tokens a KV cache holds.

Owns: the arithmetic from bytes to blocks, tokens and whole requests, for models whose layers are all
alike. Knows nothing about models or formats: bytes a token come in (`serving.facts.formats`).
"""

from __future__ import annotations

from dataclasses import dataclass

BLOCK_TOKENS = {"cpu": 128, "cuda": 16, "rocm": 16}
"""Tokens of a block where nobody chose. Source: cache_config_info of a running vLLM 0.32.0 on CPU
(128); vllm 0.32.0 config/cache.py DEFAULT_BLOCK_SIZE (16)."""


@dataclass(frozen=True, slots=True)
class KvCapacity:
    """What a KV cache holds."""

    blocks: int
    tokens: int
    max_concurrency: float
    """Requests of max_model_len tokens that fit at once."""


def kv_capacity(kv_bytes: int, *, bytes_per_token: int, block_tokens: int, max_model_len: int) -> KvCapacity:
    """Work out the capacity as vLLM does: whole blocks only, a request fills up its last block.

    Formula: vllm 0.32.0 v1/core/kv_cache_utils.py, tokens = int(max_concurrency * max_model_len).
    """
    blocks = kv_bytes // (bytes_per_token * block_tokens)
    blocks_per_request = -(-max_model_len // block_tokens)
    tokens = blocks * max_model_len // blocks_per_request
    return KvCapacity(blocks, tokens, blocks / blocks_per_request)
