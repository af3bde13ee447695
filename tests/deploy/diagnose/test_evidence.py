"""What follows from evidence, by numbers made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.diagnose.evidence import RIDGE_TOKENS, Device, Evidence, StepFloor

SEEN = Evidence(
    source="e", seconds=50, requests=100, busy_ratio=0.8, queue_s=1.0, prefill_s=1.0, decode_s=2.0,
    tpot_s=0.02, prompt_tokens=20_000, computed_prompt_tokens=12_000, output_tokens=4_000, step_tokens=40.0,
)  # fmt: skip
DEVICE = Device(bandwidth_bytes_per_s=4e9, flops=1e12, source="by hand")


def test_shares_are_of_the_three_together() -> None:
    assert SEEN.shares == (0.25, 0.25, 0.5)
    assert replace(SEEN, prefill_s=None).shares is None


def test_only_prompt_tokens_that_were_computed_are_in_a_step() -> None:
    assert SEEN.prompts_in_step == 30.0  # 12,000 of 16,000 tokens, of 40 in a step
    assert replace(SEEN, computed_prompt_tokens=None).prompts_in_step is None


def test_requests_in_a_step_are_those_of_the_time_in_which_it_worked() -> None:
    assert SEEN.decoding == 5.0  # 100 requests of 2 s within 40 s


def test_lengths_are_means() -> None:
    assert SEEN.lengths == (200.0, 40.0)
    assert replace(SEEN, requests=0).lengths is None


def test_ratios_to_the_device_need_both_sides() -> None:
    told = replace(SEEN, read_bytes_per_s=1e9, flops_per_s=5e11, device=DEVICE)
    assert (told.bandwidth_ratio, told.flops_ratio) == (0.25, 0.5)
    assert replace(told, device=None).bandwidth_ratio is None
    assert replace(told, read_bytes_per_s=None).bandwidth_ratio is None


def test_without_the_engines_estimate_the_floor_of_a_step_stands_in() -> None:
    floor = StepFloor(memory_s=0.005, compute_s=0.001)
    told = replace(SEEN, step_floor=floor, device=DEVICE)
    assert told.bandwidth_ratio == pytest.approx(0.25)
    assert told.flops_ratio == pytest.approx(0.05)
    assert floor.seconds == 0.005


def test_the_ridge_is_operations_a_byte_of_the_device() -> None:
    assert replace(SEEN, device=DEVICE).ridge_tokens == 250.0
    assert SEEN.ridge_tokens == RIDGE_TOKENS


def test_assumed_rates_prove_nothing_by_a_small_share() -> None:
    assert replace(SEEN, device=DEVICE).proven_device == DEVICE
    assert replace(SEEN, device=replace(DEVICE, assumed=True)).proven_device is None
