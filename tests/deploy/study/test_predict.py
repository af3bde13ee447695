"""Predictions from floors that were written by hand, beside measured ratios that were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.studies import CHAT, made

from deploy.study.predict import Found, predictions
from deploy.study.rows import Floors, Planned
from deploy.study.summarize import Values, ratios_of, rows_of

PLAIN = Planned(
    weight_bytes=200, kv_cache_tokens=1000,
    floors={"chat": Floors(batch=1, context_tokens=80, decode_s=0.010)},
)  # fmt: skip


def found(tmp_path, arms, values, **changes):
    """Arms with planned figures, and values by (arm, workload, measure)."""
    fragments: dict[str, dict[str, str]] = {name: {} for name in arms}
    design = made(tmp_path, arms=fragments, **changes)[1].design
    design = replace(
        design,
        arms=tuple(
            replace(arm, planned=arms[arm.name][0], drafted_tokens=arms[arm.name][1]) for arm in design.arms
        ),
    )
    told = [
        Values(arm, workload, measure, blocks, tuple(f"{arm}-{block}" for block in blocks))
        for (arm, workload, measure), blocks in values.items()
    ]
    return predictions(Found(design, told, rows_of(told), ratios_of(design, told)))


def test_capacity_is_predicted_to_the_token_and_an_equal_count_has_held(tmp_path):
    arms = {"plain": (PLAIN, 0), "fp8": (replace(PLAIN, kv_cache_tokens=2000, floors={}), 0)}
    values = {("plain", None, "kv_cache_tokens"): {1: 1000.0}, ("fp8", None, "kv_cache_tokens"): {1: 2000.0}}
    (one,) = found(tmp_path, arms, values)
    assert (one.measure, one.predicted, one.measured.value, one.held) == ("kv_cache_tokens", 2.0, 2.0, True)
    assert (one.tag, one.error_ratio) == ("projected", 0.0)


def test_that_nothing_changes_and_nothing_did_is_not_told(tmp_path):
    arms = {"plain": (PLAIN, 0), "ngram": (PLAIN, 4)}
    values = {
        ("plain", None, "kv_cache_tokens"): {1: 1000.0},
        ("ngram", None, "kv_cache_tokens"): {1: 1000.0},
    }
    assert found(tmp_path, arms, values) == ()
    values[("ngram", None, "kv_cache_tokens")] = {1: 900.0}
    assert [one.held for one in found(tmp_path, arms, values)] == [False]


def test_a_prediction_that_was_wrong_is_told_with_how_far(tmp_path):
    arms = {"plain": (PLAIN, 0), "fp8": (replace(PLAIN, kv_cache_tokens=2000, floors={}), 0)}
    values = {("plain", None, "kv_cache_tokens"): {1: 1000.0}, ("fp8", None, "kv_cache_tokens"): {1: 1500.0}}
    (one,) = found(tmp_path, arms, values)
    assert one.held is False
    assert one.error_ratio == pytest.approx(-0.25)


def test_decode_is_predicted_by_the_floors_of_a_step(tmp_path):
    faster = replace(PLAIN, floors={"chat": Floors(batch=1, context_tokens=80, decode_s=0.008)})
    arms = {"plain": (PLAIN, 0), "fp8": (faster, 0)}
    values = {
        ("plain", "chat", "tpot_mean_s"): {1: 0.05, 2: 0.05},
        ("fp8", "chat", "tpot_mean_s"): {1: 0.05, 2: 0.06},
    }
    (one,) = found(tmp_path, arms, values)
    assert one.predicted == pytest.approx(0.8)
    assert one.formula == "decode floors at batch 1: 8.00 ms / 10.00 ms"


def test_speculation_is_predicted_with_the_tokens_a_pass_that_were_measured(tmp_path):
    """E = 3, k = 4, a draft step of 2 ms, a checking step of 12 ms: 3 * 10 / (4 * 2 + 12) = 1.5."""
    floors = Floors(batch=1, context_tokens=80, decode_s=0.010, checked_s=0.012, draft_s=0.002)
    arms = {"plain": (PLAIN, 0), "draft": (replace(PLAIN, kv_cache_tokens=None, floors={"chat": floors}), 4)}
    values = {
        ("plain", "chat", "tokens_per_s_per_user"): {1: 20.0, 2: 20.0},
        ("draft", "chat", "tokens_per_s_per_user"): {1: 30.0, 2: 30.0},
        ("draft", "chat", "tokens_per_pass"): {1: 3.0, 2: 3.0},
    }
    (one,) = found(tmp_path, arms, values)
    assert (one.measure, one.tag) == ("tokens_per_s_per_user", "calibrated")
    assert one.predicted == pytest.approx(1.5)
    assert one.held is True


def test_prefill_is_predicted_by_what_was_not_found_in_the_cache(tmp_path):
    bare = replace(PLAIN, floors={})
    values = {
        ("plain", "chat", "prefix_hit_ratio"): {1: 0.0},
        ("fp8", "chat", "prefix_hit_ratio"): {1: 0.75},
        ("plain", "chat", "prefill_mean_s"): {1: 0.4},
        ("fp8", "chat", "prefill_mean_s"): {1: 0.1},
    }
    (one,) = found(tmp_path, {"plain": (bare, 0), "fp8": (bare, 0)}, values)
    assert (one.measure, one.predicted, one.held) == ("prefill_mean_s", 0.25, None)


def test_more_users_are_predicted_within_an_arm_by_batch_and_floors(tmp_path):
    """8 users at 20 ms a step over 1 at 10 ms: 8 / 20 * 10 = 4."""
    floors = {
        "one": Floors(batch=1, context_tokens=80, decode_s=0.010),
        "many": Floors(batch=8, context_tokens=80, decode_s=0.020),
    }
    arms = {"plain": (replace(PLAIN, floors=floors), 0)}
    values = {
        ("plain", "one", "output_tokens_per_s"): {1: 20.0, 2: 20.0},
        ("plain", "many", "output_tokens_per_s"): {1: 60.0, 2: 60.0},
    }
    (one,) = found(tmp_path, arms, values, workloads={"one": CHAT, "many": CHAT})
    assert (one.arm, one.over, one.workload, one.over_workload) == ("plain", "plain", "many", "one")
    assert one.predicted == pytest.approx(4.0)
    assert one.measured.value == pytest.approx(3.0)
    assert one.held is False


def test_nothing_is_predicted_of_what_was_not_measured(tmp_path):
    assert found(tmp_path, {"plain": (PLAIN, 0), "fp8": (PLAIN, 0)}, {}) == ()
