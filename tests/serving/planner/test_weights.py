"""Bytes of weights against the golden records and loaded models, and how ranks share them."""

from __future__ import annotations

import pytest
from fakes.planning import ARCHITECTURES, config, golden, record, shape

from serving.errors import UsageError
from serving.facts.load import weight_storage
from serving.planner.model import model_shape
from serving.planner.shape import Tensor
from serving.planner.weights import (
    Ranks,
    check_split,
    distinct_experts,
    on_rank,
    rank_bytes,
    read_bytes,
    tensor_bytes,
    weight_bytes,
)

BF16 = weight_storage()["bf16"]
GIB = 1024**3


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_bytes_in_bf16_are_those_of_the_golden_record(name: str) -> None:
    if "weight_bytes_bf16" in record(name):
        assert weight_bytes(shape(name), BF16) == record(name)["weight_bytes_bf16"]


# "Model loading took" of vLLM: 8B 14.99 GiB, Qwen3-32B 61.03, 70B in FP8 67.72.
@pytest.mark.parametrize(
    ("name", "storage", "loaded_gib"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", "bf16", 14.99),
        ("Qwen/Qwen3-32B", "bf16", 61.03),
        ("meta-llama/Meta-Llama-3.1-70B", "fp8", 67.72),
    ],
)
def test_what_vllm_loads_is_met_within_half_a_percent(name: str, storage: str, loaded_gib: float) -> None:
    found = rank_bytes(shape(name), weight_storage()[storage], Ranks()) / GIB
    assert found == pytest.approx(loaded_gib, rel=0.005)


def test_scales_and_what_stays_in_sixteen_bits_count() -> None:
    block = weight_storage()["fp8_per_block"]
    assert tensor_bytes(Tensor("a", "linear", 256, 130), block, 2) == 256 * 130 + 2 * 2 * 4
    for role in ("norm", "embedding", "head", "router"):
        assert tensor_bytes(Tensor("a", role, 256, 130), block, 2) == 2 * 256 * 130


def test_what_a_checkpoint_ignores_stays_in_sixteen_bits() -> None:
    from dataclasses import replace

    plain = weight_storage()["fp8"]
    model = shape("Qwen/Qwen3-8B")
    attention = sum(
        t.parameters for layer in model.layers for t in layer.tensors if t.name in "q_proj k_proj v_proj"
    )
    for pattern in ("model.layers.*.self_attn.[qkv]_proj", "re:.*self_attn\\.(q|k|v)_proj"):
        ignoring = replace(plain, ignore=(pattern,))
        more = weight_bytes(model, ignoring) - weight_bytes(model, plain)
        assert more == attention - 3 * len(model.layers) * 4


def test_experts_alone_are_stored_in_a_format_of_experts() -> None:
    storage = weight_storage()["int8_per_channel_weight_only"]
    assert tensor_bytes(Tensor("a", "linear", 64, 64), storage, 2) == 2 * 64 * 64
    assert tensor_bytes(Tensor("a", "expert", 64, 64, copies=3), storage, 2) == 3 * (64 * 64 + 64 * 4)


def test_heads_are_repeated_where_ranks_are_more_and_norms_always() -> None:
    keys = Tensor("k_proj", "linear", 256, 100, 1, "rows", 2)
    assert [on_rank(keys, Ranks(n)).rows for n in (1, 2, 4)] == [256, 128, 128]
    assert on_rank(Tensor("norm", "norm", 100), Ranks(8)).rows == 100
    assert on_rank(Tensor("o", "linear", 100, 256, 1, "cols"), Ranks(4)).cols == 64
    assert on_rank(Tensor("e", "embedding", 32001, 8, 1, "vocab"), Ranks(2)).rows == 32064 // 2


def test_experts_are_spread_whole_or_shared() -> None:
    up = Tensor("experts.up_proj", "expert", 64, 100, 8, "experts", used=2)
    down = Tensor("experts.down_proj", "expert", 100, 64, 8, "experts", used=2)
    whole = on_rank(up, Ranks(2, data=2, expert=True))
    assert (whole.copies, whole.rows) == (2, 64)
    assert on_rank(up, Ranks(2, data=2)).rows == 16
    assert on_rank(down, Ranks(4)).cols == 16


def test_stages_hold_the_embedding_first_and_the_head_last() -> None:
    model = shape()
    layer = sum(t.parameters for t in model.layers[0].tensors)
    table = model.embedding_parameters
    assert rank_bytes(model, BF16, Ranks(pipeline=2)) == 2 * (16 * layer + table + 4096)


def test_what_an_engine_holds_twice_counts_twice_on_a_rank_and_once_in_the_files() -> None:
    bias = Tensor("a_log", "norm", 64, 1, 1, "rows", held=2)
    assert tensor_bytes(on_rank(bias, Ranks(2)), BF16, 2) == 32 * 4
    assert tensor_bytes(bias, BF16, 2) == 64 * 2


def test_some_families_hold_what_is_around_their_layers_on_every_stage() -> None:
    # Read from vLLM 0.32.0: both halves of Mixtral 8x7B hold 46,964,940,800 bytes.
    assert rank_bytes(shape("mistralai/Mixtral-8x7B-v0.1"), BF16, Ranks(pipeline=2)) == 46_964_940_800


def test_states_are_shared_by_whole_heads() -> None:
    # Qwen 3.5 27B has 16 key heads in its states, 24 attention heads and 4 KV heads.
    with pytest.raises(UsageError, match="states of 16 heads or groups cannot be shared by 12 ranks"):
        check_split(shape("Qwen/Qwen3.5-27B"), Ranks(12))
    check_split(shape("Qwen/Qwen3.5-27B"), Ranks(8))


def test_layers_that_share_a_cache_are_of_one_stage() -> None:
    name = "google/gemma-4-26B-A4B"
    sharing = model_shape({**config(name), "num_kv_shared_layers": 10}, name)
    with pytest.raises(UsageError, match="3 stages part layer 20 from layer 19, whose cache it reads"):
        check_split(sharing, Ranks(pipeline=3))
    check_split(sharing, Ranks(pipeline=2))


def test_a_table_of_which_a_token_reads_a_row_is_not_read_in_a_step() -> None:
    name = "google/gemma-4-26B-A4B"
    plain, more = (model_shape({**config(name), "hidden_size_per_layer_input": n}, name) for n in (0, 256))
    each = 2 * 256 * 2816 + 2816
    read = read_bytes(more, BF16, Ranks(), 1) - read_bytes(plain, BF16, Ranks(), 1)
    assert read == 2 * (30 * 256 * 2816 + 256 + 30 * each)


def test_impossible_splits_are_errors_that_name_what_works() -> None:
    with pytest.raises(
        UsageError, match=r"32 attention heads cannot be shared by 3 ranks; use 1, 2, 4, 8, 16, 32"
    ):
        check_split(shape(), Ranks(3))
    with pytest.raises(UsageError, match=r"4 KV heads cannot be shared by 7 ranks; use 1, 2, 4, 28"):
        check_split(shape("Qwen/Qwen2.5-7B"), Ranks(7))
    check_split(shape("Qwen/Qwen2.5-7B"), Ranks(28))
    with pytest.raises(UsageError, match="32 layers cannot make 64 stages"):
        check_split(shape(), Ranks(pipeline=64))
    with pytest.raises(UsageError, match="no experts to spread"):
        check_split(shape(), Ranks(2, expert=True))


@pytest.mark.parametrize("row", golden()["roofline"]["distinct_experts"], ids=str)
def test_distinct_experts_are_those_of_the_golden_table(row: dict[str, float]) -> None:
    found = distinct_experts(int(row["E"]), int(row["k"]), int(row["T"]))
    assert found == pytest.approx(row["D"], abs=0.006)
