"""Speculation against the golden table, and where it turns into a loss."""

from __future__ import annotations

import pytest
from fakes.planning import cache_of, golden, shape

from serving.facts.load import gpus, weight_storage
from serving.planner.roofline import Speed
from serving.planner.speculation import (
    Drafting,
    acceptance_ratio,
    expected_tokens,
    gain,
    loss_from,
    measured_tokens,
)

SPEED = Speed(shape(), weight_storage()["bf16"], cache_of(), gpus()["h100-sxm"])


@pytest.mark.parametrize("row", golden()["roofline"]["spec_expected_tokens"], ids=str)
def test_expected_tokens_are_those_of_the_golden_table(row: dict[str, float]) -> None:
    assert expected_tokens(row["alpha"], int(row["k"])) == pytest.approx(row["E"], abs=6e-5)


def test_acceptance_is_accepted_over_drafted_and_not_alpha() -> None:
    assert round(acceptance_ratio(expected_tokens(0.8, 4), 4), 2) == 0.59
    assert expected_tokens(1.0, 4) == 5


def test_measured_positions_add_up() -> None:
    assert measured_tokens((0.8, 0.6, 0.4)) == pytest.approx(2.8)
    drafting = Drafting(tokens=3, positions=(0.8, 0.6, 0.4))
    assert gain(SPEED, drafting, batch=1, context=1024).tokens_per_step == pytest.approx(2.8)


def test_look_ups_gain_all_their_tokens_while_memory_binds() -> None:
    found = gain(SPEED, Drafting(tokens=4, alpha=0.8), batch=1, context=1024)
    assert found.speedup == pytest.approx(3.3616, rel=0.001)


def test_at_large_batches_it_is_a_loss() -> None:
    drafting = Drafting(tokens=4, alpha=0.3)
    turns = loss_from(SPEED, drafting, context=1024)
    assert turns is not None
    assert gain(SPEED, drafting, batch=turns, context=1024).speedup < 1
    assert gain(SPEED, drafting, batch=turns // 2, context=1024).speedup >= 1


def test_no_acceptance_with_a_draft_is_a_loss_at_once() -> None:
    drafting = Drafting(tokens=4, alpha=0.0, draft=SPEED)
    assert loss_from(SPEED, drafting, context=1024) == 1


def test_drafts_of_a_mixture_read_more_experts() -> None:
    v3 = Speed(
        shape("deepseek-ai/DeepSeek-V3"), weight_storage()["fp8_per_block"], cache_of(), gpus()["h200"]
    )
    found = gain(v3, Drafting(tokens=3, alpha=0.8), batch=1, context=1024)
    assert found.speedup < 0.6 * found.tokens_per_step
