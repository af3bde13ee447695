"""Gains against numbers worked out by hand, on a planner's device of round rates."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.diagnosed import ask_of

from deploy.diagnose.evidence import Evidence
from deploy.diagnose.predict import (
    KV_TOKENS,
    OUTPUT,
    TPOT,
    TTFT,
    USERS,
    Gain,
    drafted,
    effects,
    room,
    step_floor,
)
from serving.facts.load import overheads
from serving.planner.plan import Plan, make_plan

# SmolLM2-135M: 134,515,008 parameters, 30 layers of 3 KV heads of 64; a token's cache is 30 * 2 * 3 * 64 * 2
# = 23,040 bytes in bf16, a block of 128 tokens 2,949,120 bytes.
WEIGHTS = 269_030_016
TOKEN = 23_040
# 10 GB/s, and operations that never bind.
RATES = {"bandwidth": 10.0, "flops": 1000.0}
TIGHT = "device: cpu, max_model_len: 1024, max_num_seqs: 8, kv_cache_memory: 46MiB"
# 120 requests of 256 + 256 tokens within 60 s, each a second of prefill and two of decoding: 4 in a step.
SEEN = Evidence(
    source="e", seconds=60, requests=120, running_mean=6.0, waiting_mean=6.0, busy_ratio=1.0, queue_s=1.0,
    prefill_s=1.0, decode_s=2.0, ttft_s=2.0, tpot_s=0.1, prompt_tokens=120 * 256, output_tokens=120 * 256,
)  # fmt: skip


def plan_of(engine: str, modes: str = "", **rates: float) -> Plan:
    return make_plan(ask_of(f"engine: {{{engine}}}\n{modes}", **(RATES | rates)), overheads())


def by_measure(gains: tuple[Gain, ...]) -> dict[str, Gain]:
    return {gain.measure: gain for gain in gains}


def test_the_floor_is_of_the_windows_own_batch_and_context() -> None:
    floor = step_floor(plan_of(TIGHT), SEEN)
    assert floor is not None
    # All weights once, and the cache of 4 requests at 256 + 128 tokens.
    assert floor.memory_s == pytest.approx((WEIGHTS + 4 * 384 * TOKEN) / 10e9, rel=1e-3)
    assert step_floor(plan_of(TIGHT), replace(SEEN, decode_s=None)) is None


def test_half_the_bytes_a_token_are_twice_the_tokens() -> None:
    after = plan_of(TIGHT, "modes: [{kind: quantized_kv, format: fp8}]")
    gain = by_measure(effects(plan_of(TIGHT), after, SEEN))[KV_TOKENS]
    assert (gain.low, gain.high) == (2.0, 2.0)
    assert "2,048 -> 4,096 tokens" in gain.how
    # Requests of 512 tokens take 4 blocks: 3 of 15, and 7 of 31.
    users = by_measure(effects(plan_of(TIGHT), after, SEEN))[USERS]
    assert users.how == "the plan made again: 3 -> 7 of 512 tokens, as seen"


def test_room_is_what_cache_and_seats_both_allow() -> None:
    # 15 blocks but the null one; 512 tokens are 4 blocks.
    assert room(plan_of(TIGHT), SEEN) == 3
    assert room(plan_of(TIGHT.replace("46MiB", "460MiB")), SEEN) == 8


def test_fewer_bytes_a_step_are_bounded_by_what_is_known_of_the_rest() -> None:
    before, after = (
        plan_of(TIGHT),
        plan_of(TIGHT, "modes: [{kind: quantized_weights, format: fp8_per_block}]"),
    )
    gain = by_measure(effects(before, after, SEEN))[TPOT]
    now, then = step_floor(before, SEEN), step_floor(after, SEEN)
    assert now is not None
    assert then is not None
    # At worst only the floor's own milliseconds are saved, at best the whole step shrinks with it.
    assert gain.low == pytest.approx(0.1 / (0.1 - now.seconds + then.seconds))
    assert gain.high == pytest.approx(now.seconds / then.seconds)
    assert 1 < gain.low < gain.high


def test_twice_the_seats_gain_between_nothing_and_twice_but_not_of_the_prompts_time() -> None:
    roomy = TIGHT.replace("46MiB", "460MiB")
    seen = by_measure(effects(plan_of(roomy), plan_of(roomy.replace("seqs: 8", "seqs: 16")), SEEN))
    gain = seen[OUTPUT]
    # Twice as many run (6 + 6 are wanted). The floor of a step grows from 30.4 to 34.0 ms, of 100 ms. At best
    # the rest of it stays (103.6 ms), at worst it doubles (173.1 ms). Prefill is a third, and stays.
    assert gain.high == pytest.approx(1 / (1 / 3 + 2 / 3 * 1.036 / 2), abs=0.002)
    assert gain.low == pytest.approx(1 / (1 / 3 + 2 / 3 * 1.731 / 2), abs=0.002)
    assert seen[TTFT].high == pytest.approx(2.0)  # 2 s, of which 1 s was queued
    assert "8 requests in a step instead of 4" in gain.how


def test_more_room_than_requests_want_gains_no_more_than_they_want() -> None:
    roomy = TIGHT.replace("46MiB", "460MiB")
    wanted = replace(SEEN, waiting_mean=1.5)
    gain = by_measure(effects(plan_of(roomy), plan_of(roomy.replace("seqs: 8", "seqs: 64")), wanted))[OUTPUT]
    assert gain.high < 7.5 / 6


def test_where_the_room_stays_the_batch_stays() -> None:
    # 6.4 requests times a ratio of one: not a rounding error more.
    after = plan_of(TIGHT, "modes: [{kind: quantized_weights, format: fp8_per_block}]")
    assert set(by_measure(effects(plan_of(TIGHT), after, replace(SEEN, running_mean=6.43771)))) == {TPOT}


def test_a_change_that_changes_nothing_predicts_nothing() -> None:
    assert effects(plan_of(TIGHT), plan_of(TIGHT), SEEN) == ()


def test_drafts_gain_by_tokens_of_a_step_against_its_floor() -> None:
    plan = plan_of(TIGHT)
    gain = drafted(plan, SEEN, now=0, then=2, accepted=(0.5, 0.25))
    assert gain is not None
    # 1.75 tokens of a step whose bytes stay the same: by both bounds.
    assert gain.low == pytest.approx(1.75)
    assert gain.high == pytest.approx(1.75)


def test_drafts_lose_where_operations_bind() -> None:
    # 0.01 TFLOP/s: a step of 4 tokens takes 2 * 134.5 M * 4 operations, 108 ms and more; with drafts 3 times.
    plan = plan_of(TIGHT, flops=0.01)
    gain = drafted(plan, replace(SEEN, tpot_s=0.12), now=0, then=2, accepted=(0.5, 0.25))
    assert gain is not None
    assert gain.high < 1


def test_fewer_drafts_are_judged_by_the_positions_that_were_measured() -> None:
    plan = plan_of(TIGHT, flops=0.01)
    gain = drafted(plan, replace(SEEN, tpot_s=0.2), now=4, then=1, accepted=(0.5, 0.1, 0.05, 0.0))
    assert gain is not None
    # 1.65 tokens in steps of 5 tokens become 1.5 in steps of 2.
    assert gain.high == pytest.approx(1.5 / 1.65 * 5 / 2, rel=0.02)
