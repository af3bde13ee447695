"""KV capacity against what running vLLM 0.32.0 engines reported."""

from __future__ import annotations

import pytest

from serving.planner.kv_cache import kv_capacity

GIB_2 = 2147483648
RECORDS = {
    # Exact records of a running vLLM 0.32.0 on CPU (2 GiB, blocks of 128, max_model_len 2048, 3 KV heads,
    # head_dim 64): bytes a token from layers * 3 * 64 * 2 * element size -> tokens, blocks, concurrency.
    "SmolLM2 in bf16": (30 * 3 * 64 * 2 * 2, 93184, 728, 45.5),
    "SmolLM2 in fp8": (30 * 3 * 64 * 2 * 1, 186368, 1456, 91.0),
    "SmolLM2 and a draft like it": (60 * 3 * 64 * 2 * 2, 46592, 364, 22.75),
    "26 layers at 1 byte and 4 at 2": (26 * 3 * 64 * 2 + 4 * 3 * 64 * 2 * 2, 164480, 1285, 80.31),
}


@pytest.mark.parametrize("name", RECORDS)
def test_capacity_is_what_the_engine_reported(name: str) -> None:
    bytes_per_token, tokens, blocks, concurrency = RECORDS[name]
    found = kv_capacity(GIB_2, bytes_per_token=bytes_per_token, block_tokens=128, max_model_len=2048)
    assert (found.tokens, found.blocks) == (tokens, blocks)
    assert round(found.max_concurrency, 2) == concurrency


def test_a_request_that_does_not_fill_its_last_block_still_takes_it() -> None:
    # 8 blocks; a request of 130 tokens takes two of them: 4 requests, 520 tokens.
    found = kv_capacity(8 * 128 * 10, bytes_per_token=10, block_tokens=128, max_model_len=130)
    assert (found.blocks, found.max_concurrency, found.tokens) == (8, 4.0, 520)


def test_memory_for_less_than_a_block_holds_nothing() -> None:
    assert kv_capacity(1279, bytes_per_token=10, block_tokens=128, max_model_len=128).tokens == 0
