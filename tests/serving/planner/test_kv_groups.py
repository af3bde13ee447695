"""The pool of blocks against what running engines reported, and by hand where there is no record."""

from __future__ import annotations

import pytest
from fakes.planning import cache_of, golden, shape

from serving.facts.load import model_configs
from serving.planner.kv_groups import Split, kv_pool, layout_words, stages
from serving.planner.model import model_shape

RECORDS = {row["id"]: row for row in golden()["vllm_capacity"]}
SMOLLM = model_shape(model_configs()["smollm2-135m"], "smollm2")
FORMATS = {
    "cpu-0.32-smollm2-bf16": "bf16",
    "cpu-0.32-smollm2-fp8": "fp8",
    "cpu-0.32-smollm2-tq4": "turboquant_4bit_nc",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_cpu_record_is_met_to_the_token(name: str) -> None:
    wanted = RECORDS[name]
    pool = kv_pool(SMOLLM, cache_of(FORMATS[name], "cpu"), Split(wanted["block"]))
    found = pool.capacity(2147483648, wanted["max_model_len"])
    assert (found.tokens, found.blocks) == (wanted["tokens"], wanted["blocks"])
    assert round(found.max_concurrency, 2) == wanted["conc"]


def test_gpu_records_are_met_to_the_block() -> None:
    bf16 = RECORDS["h100-0.19-llama31-8b-bf16"]
    memory = bf16["blocks"] * 2 * 1024**2
    assert kv_pool(shape(), cache_of(), Split(16)).capacity(memory, 131072).tokens == bf16["tokens"]
    eight = kv_pool(shape(), cache_of("fp8"), Split(16)).capacity(memory, 131072)
    assert eight.tokens == RECORDS["h100-0.19-llama31-8b-fp8kv"]["tokens"]


def test_windows_and_full_layers_share_a_pool_in_groups_of_the_fewer() -> None:
    # Gemma 3 27B: 10 full and 52 windows make groups of 10: 1 + 6 (the last padded).
    pool = kv_pool(shape("google/gemma-3-27b-it"), cache_of(), Split(16, in_flight=2048))
    assert sorted(len(group.layers) for group in pool.groups) == [8, 8, 9, 9, 9, 9, 10]
    assert pool.block_bytes == 10 * 16 * 2 * 16 * 128 * 2
    # A window: ceil((1024 - 1 + 2048) / 16) + 1 = 193 blocks; full: 512.
    assert pool.blocks(8192) == 512 + 6 * 193


def test_types_of_nearly_as_many_layers_are_padded_and_not_split() -> None:
    pool = kv_pool(shape("openai/gpt-oss-20b"), cache_of(), Split(16))
    assert [len(group.layers) for group in pool.groups] == [12, 12]


def test_a_block_grows_until_it_holds_a_state() -> None:
    # Qwen 3.5 27B: a state of 3,207,168 bytes, attention of 4,096 bytes a token: 784 tokens, 49 times 16.
    pool = kv_pool(shape("Qwen/Qwen3.5-27B"), cache_of(), Split(16))
    assert pool.block_tokens == 784
    assert sorted(len(group.layers) for group in pool.groups) == [16, 16, 16, 16]
    # Prefixes are cached: each of the 3 groups of states holds the current one and the one before.
    assert pool.blocks(784 * 3) == 3 + 3 * 2
    assert layout_words(pool) in ("3 groups of 16 state layers, 1 group of 16 full layers",)


def test_without_cached_prefixes_a_request_has_one_state() -> None:
    pool = kv_pool(shape("Qwen/Qwen3.5-27B"), cache_of(), Split(16, prefix_cache=False))
    assert pool.blocks(784 * 3) == 3 + 3


def test_a_block_that_holds_a_state_is_whole_blocks_of_attention() -> None:
    # Read from vLLM 0.32.0: blocks of 128 grow to 896, not to the next multiple of 16.
    pool = kv_pool(shape("Qwen/Qwen3.5-27B"), cache_of(), Split(128))
    assert (pool.block_tokens, pool.block_bytes) == (896, 16 * 3_670_016)


def test_pages_of_other_sizes_take_more_tokens_a_block() -> None:
    # Gemma 4: 8 * 256 elements in windows, 2 * 512 in full layers, whose blocks take twice the tokens.
    pool = kv_pool(shape("google/gemma-4-26B-A4B"), cache_of(), Split(16))
    assert {group.page.kind: group.page.block_tokens for group in pool.groups} == {"window": 16, "full": 32}


def test_chunks_take_a_chunk_and_what_is_in_flight() -> None:
    name = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
    pool = kv_pool(shape(name), cache_of(), Split(16, in_flight=1024))
    assert pool.blocks(100_000) == 6250 + 3 * (8192 + 1024) // 16


def test_stages_are_divided_as_vllm_divides_them() -> None:
    assert [len(stage) for stage in stages(32, 4)] == [8, 8, 8, 8]
    assert [len(stage) for stage in stages(61, 4)] == [15, 15, 16, 15]
    assert [len(stage) for stage in stages(62, 4)] == [15, 16, 16, 15]


def test_a_stage_keeps_its_own_layers_only() -> None:
    one, four = (kv_pool(shape(), cache_of(), Split(16, pipeline=n)) for n in (1, 4))
    assert one.block_bytes == 4 * four.block_bytes


def test_one_block_is_never_a_users() -> None:
    pool = kv_pool(shape(), cache_of(), Split(16))
    assert (pool.users(17, 256), pool.users(16, 256)) == (1, 0)
    assert pool.longest(17, 1, 10_000) == 256
    assert pool.longest(1, 1, 10_000) == 0


def test_a_draft_as_large_as_the_target_halves_the_tokens() -> None:
    from dataclasses import replace

    wanted = RECORDS["cpu-0.32-smollm2+draft-same"]
    both = replace(SMOLLM, layers=(*SMOLLM.layers, *SMOLLM.layers))
    found = kv_pool(both, cache_of(device="cpu"), Split(128)).capacity(2147483648, 2048)
    assert (found.tokens, found.blocks, found.max_concurrency) == (
        wanted["tokens"],
        wanted["blocks"],
        wanted["conc"],
    )
