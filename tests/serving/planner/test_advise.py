"""Advice: what would make it fit or go further, with its risk."""

from __future__ import annotations

from fakes.planning import ask, cache_of, facts, plan, shape

from serving.facts.load import gpus, overheads, weight_storage
from serving.planner.advise import advise
from serving.planner.ask import Lengths
from serving.planner.plan import make_plan
from serving.planner.weights import Ranks


def test_what_makes_it_fit_comes_first_and_really_fits() -> None:
    found = advise(plan(shape("Qwen/Qwen3-32B"), max_model_len=131072 // 4), facts().choices, overheads())
    assert found
    assert found[0].fits
    assert all(advice.flags.startswith(("--", "a checkpoint")) for advice in found)
    assert all(advice.risk and advice.keys for advice in found)


def test_a_predicted_effect_is_the_plans_own() -> None:
    before = plan()
    eight = next(a for a in advise(before, facts().choices, overheads()) if a.flags == "--kv-cache-dtype fp8")
    after = plan(cache=cache_of("fp8"))
    assert (eight.users_before, eight.users) == (before.users.at_max, after.users.at_max)
    assert eight.kv_tokens == after.capacity.tokens
    assert eight.decode_floor_s == after.decode.seconds
    assert eight.document()["effect"]["users"] == after.users.at_max


def test_a_shorter_context_is_told_where_the_asked_one_does_not_fit() -> None:
    found = advise(plan(kv_cache_bytes=2**30, max_model_len=16384), facts().choices, overheads())
    lengths = [advice for advice in found if advice.flags.startswith("--max-model-len")]
    assert lengths[0].fits
    assert lengths[0].flags == "--max-model-len 7936"


def test_formats_are_not_advised_twice_nor_where_they_cannot_be() -> None:
    quantized = make_plan(ask(cache=cache_of("fp8"), weights=weight_storage()["awq"]), overheads())
    flags = [advice.flags for advice in advise(quantized, facts().choices, overheads())]
    assert not any("--kv-cache-dtype" in flag or "--quantization" in flag for flag in flags)
    latent = advise(plan(shape("deepseek-ai/DeepSeek-V3")), facts().choices, overheads())
    assert not any("int4_per_token_head" in advice.flags for advice in latent)


def test_more_sequences_are_advised_where_they_are_the_limit() -> None:
    found = advise(plan(max_num_seqs=4), facts().choices, overheads())
    (more,) = (advice for advice in found if advice.flags.startswith("--max-num-seqs"))
    assert (more.users_before, more.users) == (4, 55)


def test_where_twice_the_devices_are_too_few_more_are_tried() -> None:
    mixtral = plan(
        shape("mistralai/Mixtral-8x7B-v0.1"), gpu=gpus()["l4"], memory_bytes=gpus()["l4"].memory_bytes
    )
    fitting = [found for found in advise(mixtral, facts().choices, overheads()) if found.fits]
    # 87 GiB of weights: four devices of 24 GiB would hold 96 GiB, without room for anything else.
    assert [found.devices for found in fitting if "--quantization" not in found.flags][-1] == 8
    alone = [found.flags for found in fitting if found.flags == "--tensor-parallel-size 8"]
    assert len(alone) == 1


def test_where_no_single_change_would_do_two_that_need_fewer_devices_are_told_first() -> None:
    mixtral = plan(
        shape("mistralai/Mixtral-8x7B-v0.1"), gpu=gpus()["l4"], memory_bytes=gpus()["l4"].memory_bytes
    )
    fitting = [found for found in advise(mixtral, facts().choices, overheads()) if found.fits]
    assert [found.devices for found in fitting] == sorted(found.devices for found in fitting)
    # 8 bits halve 87 GiB, and four devices of 24 GiB share them: 11 GiB each.
    both = "--quantization fp8_per_block --tensor-parallel-size 4"
    [told] = (found for found in fitting if found.flags == both)
    after = plan(
        mixtral.ask.shape,
        gpu=mixtral.ask.gpu,
        memory_bytes=mixtral.ask.memory_bytes,
        weights=weight_storage()["fp8_per_block"],
        ranks=Ranks(4),
    )
    assert after.fits
    assert (told.users, told.kv_tokens) == (after.users.at_max, after.capacity.tokens)
    assert told.risk == "low"


def test_no_more_devices_are_advised_than_there_are() -> None:
    large = plan(shape("meta-llama/Meta-Llama-3.1-70B"))
    found = advise(large, facts().choices, overheads(), devices=2)
    assert found
    assert max(advice.devices for advice in found) <= 2
    assert {advice.devices for advice in advise(large, facts().choices, overheads())} > {1, 2}


def test_users_of_another_length_are_told_with_both_lengths() -> None:
    [shorter] = (
        advice
        for advice in advise(plan(kv_cache_bytes=2**30, max_model_len=16384), facts().choices, overheads())
        if advice.flags == "--max-model-len 7936"
    )
    assert (shorter.users_before, shorter.user_tokens_before) == (0, 16384)
    assert (shorter.users, shorter.user_tokens) == (1, 7936)


def test_a_workload_does_not_hide_that_the_longest_context_keeps_the_engine_from_starting() -> None:
    lengths = Lengths(8192, 0, 8192, 8192)
    scout = plan(
        shape("meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ranks=Ranks(4),
        max_model_len=10_485_760,
        lengths=lengths,
    )
    assert not scout.fits
    found = advise(scout, facts().choices, overheads())
    assert any(advice.fits and "--max-model-len" in advice.flags for advice in found)
