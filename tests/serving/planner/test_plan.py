"""The plan: limits, users, and what must hold for every model."""

from __future__ import annotations

from random import Random

import pytest
from fakes.planning import ask, cache_of, golden, plan, random_config, shape

from serving.errors import UsageError
from serving.facts.load import gpus, model_configs, weight_storage
from serving.planner.ask import Lengths
from serving.planner.headers import Checkpoint
from serving.planner.model import model_shape
from serving.planner.plan import draft_speed, make_plan
from serving.planner.speculation import Drafting
from serving.planner.weights import Ranks

GIB = 1024**3
SEEDS = range(25)
SMOLLM = model_shape(model_configs()["smollm2-135m"], "smollm2")


def made_up(seed: int):
    return model_shape(random_config(Random(seed)), f"seed {seed}")


def test_the_published_fp8_record_has_twice_the_tokens_of_bf16() -> None:
    rows = {row["id"]: row for row in golden()["vllm_capacity"]}
    asked = {"version": "0.19", "utilization": 0.95, "max_model_len": 131072}
    bf16, eight = plan(**asked), plan(cache=cache_of("fp8"), **asked)
    assert bf16.capacity.tokens == pytest.approx(rows["h100-0.19-llama31-8b-bf16"]["tokens"], rel=0.01)
    assert eight.capacity.tokens == pytest.approx(rows["h100-0.19-llama31-8b-fp8kv"]["tokens"], rel=0.01)


def test_weights_that_exceed_the_memory_do_not_fit_by_so_much() -> None:
    found = plan(shape("meta-llama/Meta-Llama-3.1-70B"))
    assert not found.fits
    assert [limit.name for limit in found.limits if limit.blocks] == ["weights"]
    assert found.budget.missing_bytes > 50 * GIB


def test_four_devices_hold_what_one_does_not() -> None:
    assert plan(shape("meta-llama/Meta-Llama-3.1-70B"), ranks=Ranks(4)).fits


def test_a_context_that_one_request_cannot_have_does_not_fit() -> None:
    found = plan(kv_cache_bytes=GIB, max_model_len=16384)
    assert not found.fits
    assert "one request of 16,384 tokens needs 2.00 GiB" in found.limits[0].what


def test_the_null_block_counts_as_vllm_counts_it() -> None:
    block = 2 * 1024**2
    assert plan(kv_cache_bytes=513 * block).fits
    assert not plan(kv_cache_bytes=512 * block).fits


def test_more_users_than_the_cache_holds_do_not_fit() -> None:
    found = plan(users=60)
    assert not found.fits
    assert found.users.at_max == 54
    assert found.users.longest_at_users == pytest.approx(448256 / 60, abs=16)


def test_more_users_than_max_num_seqs_do_not_fit() -> None:
    found = plan(users=10, max_num_seqs=8)
    assert [limit.name for limit in found.limits if limit.blocks] == ["max_num_seqs"]


def test_more_positions_than_the_model_has_do_not_fit() -> None:
    assert any(limit.name == "max_position" for limit in plan(max_model_len=200_000).limits)


def test_users_are_told_at_the_lengths_of_a_workload() -> None:
    found = plan(lengths=Lengths(400, 100, 512, 2048))
    assert found.users.at_p50 == (28016 - 1) // 32
    assert found.users.at_p95 == (28016 - 1) // 128
    assert (found.prompt_tokens, found.context_tokens) == (400, 450)


def test_copies_add_their_users() -> None:
    assert plan(ranks=Ranks(data=2)).users.at_max == 2 * plan().users.at_max


def test_a_drafts_weights_and_cache_count_too() -> None:
    alone, drafted = plan(), plan(draft_shape=shape())
    assert drafted.weights.rank_bytes == 2 * alone.weights.rank_bytes
    assert drafted.pool.block_bytes == 2 * alone.pool.block_bytes


def test_a_draft_stays_as_its_checkpoint_has_it_where_the_model_is_quantized() -> None:
    eight, sixteen = weight_storage()["fp8"], weight_storage()["bf16"]
    quantized = {"weights": eight, "draft_shape": SMOLLM}
    kept, taken = plan(**quantized, draft_weights=sixteen), plan(**quantized)
    # 134,515,008 parameters at two bytes; at one byte only the linear layers would be.
    assert kept.weights.draft_bytes == 2 * SMOLLM.parameters
    assert taken.weights.draft_bytes < kept.weights.draft_bytes
    drafts = draft_speed(kept.ask)
    assert drafts is not None
    assert (drafts.shape, drafts.weights) == (SMOLLM, sixteen)
    assert draft_speed(plan().ask) is None


def test_files_headers_take_the_place_of_arithmetic() -> None:
    found = plan(checkpoint=Checkpoint(17_000_000_000, 1), ranks=Ranks(2))
    assert found.weights.total_bytes == 17_000_000_000
    assert found.weights.rank_bytes == pytest.approx(8.5e9, rel=0.01)


def test_on_a_cpu_there_are_no_floors() -> None:
    found = plan(
        SMOLLM, device="cpu", gpu=None, memory_bytes=8 * GIB, kv_cache_bytes=2 * GIB, max_model_len=2048
    )
    assert (found.decode, found.prefill, found.capacity.tokens) == (None, None, 93184)


def test_speculation_and_transfer_are_told_where_asked() -> None:
    found = plan(drafting=Drafting(tokens=4, alpha=0.7), link_bytes_per_s=50e9)
    assert [gain.batch for gain in found.gains] == [1, 8, 32, 128]
    assert found.transfer is not None
    assert round(found.transfer.seconds * 1e3, 1) == 21.5


@pytest.mark.parametrize("seed", SEEDS)
def test_more_context_never_means_more_users(seed: int) -> None:
    users = [plan(made_up(seed), max_model_len=n).pool for n in (128, 1024, 4096, 32768)]
    held = [pool.users(10_000, n) for pool, n in zip(users, (128, 1024, 4096, 32768), strict=True)]
    assert held == sorted(held, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_longer_request_never_takes_fewer_blocks_or_bytes(seed: int) -> None:
    found = plan(made_up(seed))
    lengths = sorted(Random(seed).sample(range(1, 100_000), 20))
    blocks = [found.pool.blocks(n) for n in lengths]
    sizes = [found.cache.at(n) for n in lengths]
    assert blocks == sorted(blocks)
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("seed", SEEDS)
def test_more_memory_never_holds_fewer_tokens(seed: int) -> None:
    model = made_up(seed)
    tokens = [plan(model, kv_cache_bytes=n * GIB).capacity.tokens for n in (1, 2, 3, 10)]
    assert tokens == sorted(tokens)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_never_hold_more_than_one_alone_but_for_padding_and_what_is_repeated(seed: int) -> None:
    model = made_up(seed)
    found = []
    for ranks in (1, 2, 4, 8):
        if model.attention_heads % ranks == 0:
            one = plan(model, ranks=Ranks(ranks))
            found.append((one.weights.rank_bytes, one.rank_cache.at(1000)))
    padding = 64 * model.hidden * 2 * 2
    for less, more in zip(found[1:], found, strict=False):
        assert less[0] <= more[0] + padding
        assert less[1] <= more[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_more_precise_formats_are_never_smaller(seed: int) -> None:
    model = made_up(seed)
    caches = [
        plan(model, cache=cache_of(name)).cache.at(5000) for name in ("int4_per_token_head", "fp8", "bf16")
    ]
    weights = [
        plan(model, weights=weight_storage()[name]).weights.total_bytes
        for name in ("gptq", "awq", "fp8_per_block", "bf16", "fp32")
    ]
    assert caches == sorted(caches)
    assert weights == sorted(weights)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_are_whole_numbers(seed: int) -> None:
    found = plan(made_up(seed), ranks=Ranks(1, pipeline=2))
    sizes = (
        found.weights.total_bytes,
        found.weights.rank_bytes,
        found.budget.kv_bytes,
        found.pool.block_bytes,
    )
    assert all(type(size) is int for size in (*sizes, found.cache.at(999), found.capacity.tokens))


def test_an_impossible_split_is_an_error() -> None:
    from fakes.planning import facts

    with pytest.raises(UsageError, match="cannot be shared by 3 ranks"):
        make_plan(ask(ranks=Ranks(3)), facts().overheads)
    assert gpus()["h100-sxm"].memory_kind == "recorded"
