"""What --json prints: every figure with kind and source."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.planning import cache_of, plan, shape

from serving.facts.load import gpus, overheads
from serving.planner.ask import Lengths
from serving.planner.figures import document, figures
from serving.planner.speculation import Drafting

WANTED = [
    "kv_bytes_per_token",
    "kv_bytes_per_request_fixed",
    "kv_bytes_per_token_window",
    "params_total",
    "params_active",
    "weight_bytes",
    "weight_bytes_per_rank",
    "kv_cache_bytes_per_rank",
    "kv_cache_tokens",
    "max_concurrency",
    "decode_step_floor_s",
    "prefill_floor_s",
]


def test_every_figure_has_a_kind_and_a_source() -> None:
    made = document(plan(), overheads())
    for name in WANTED:
        assert made["figures"][name]["value"] == made[name]
    assert {row["kind"] for row in made["figures"].values()} <= {
        "exact",
        "formula",
        "fitted",
        "default",
        "given",
    }
    assert all(row["source"] for row in made["figures"].values())
    assert (made["fits"], made["limits"]) == (True, [])


def test_states_and_windows_are_the_fixed_part() -> None:
    linear = figures(plan(shape("Qwen/Qwen3.5-27B")), overheads())
    assert linear["kv_bytes_per_request_fixed"].value == 153944064
    oss = figures(plan(shape("openai/gpt-oss-20b")), overheads())
    assert oss["kv_bytes_per_request_fixed"].value == 128 * 24576
    assert oss["kv_bytes_per_token_window"].value == 24576


def test_the_first_token_comes_with_the_step_that_ends_the_prompt() -> None:
    # Llama-3.1-8B in bf16 on H100 SXM: a step of few tokens waits for the weights, 4.481 ms.
    short = figures(plan(lengths=Lengths(16, 1, 17, 17)), overheads())["ttft_floor_s"]
    assert short.value == pytest.approx(4.481e-3, rel=1e-3)
    assert short.source == "the prompt in 1 step of at most 8192 tokens, no queue"
    long = figures(plan(lengths=Lengths(8193, 1, 8194, 8194)), overheads())["ttft_floor_s"]
    assert long.source.startswith("the prompt in 2 steps")


def test_tokens_from_a_fitted_budget_have_a_band_around_them() -> None:
    tokens = figures(plan(), overheads())["kv_cache_tokens"]
    assert tokens.kind == "fitted"
    assert tokens.low is not None
    assert tokens.value is not None
    assert tokens.high is not None
    assert tokens.low < tokens.value < tokens.high
    assert figures(plan(kv_cache_bytes=2**33), overheads())["kv_cache_tokens"].kind == "exact"


def test_a_measured_efficiency_takes_the_place_of_the_default_range() -> None:
    default = figures(plan(), overheads())["tpot_calibrated_s"]
    own = figures(plan(efficiency=0.5), overheads())["tpot_calibrated_s"]
    assert (default.kind, own.kind) == ("default", "calibrated")
    assert own.value == 2 * plan().decode.seconds
    step = plan().decode
    assert step is not None
    assert (default.low, default.high) == (step.seconds / 0.57, step.seconds / 0.45)


def test_floors_that_cannot_be_known_are_empty_and_not_zero() -> None:
    found = figures(plan(gpu=None), overheads())
    assert found["decode_step_floor_s"].value is None


def test_speculation_tells_where_it_loses() -> None:
    made = document(plan(drafting=Drafting(tokens=4, alpha=0.3), max_model_len=1024), overheads())[
        "speculation"
    ]
    assert made["loss_from_batch"] is not None
    assert made["by_batch"][0]["batch"] == 1


def test_floors_by_assumed_rates_are_labelled_so_and_a_cpu_has_no_range_of_gpus() -> None:
    rates = replace(gpus()["l4"], rates_kind="default")
    on_cpu = figures(
        plan(gpu=rates, device="cpu", version="0.32.0", kv_cache_bytes=2**31, cache=cache_of(device="cpu")),
        overheads(),
    )
    assert on_cpu["decode_step_floor_s"].kind == on_cpu["prefill_floor_s"].kind == "default"
    assert on_cpu["tpot_calibrated_s"].value is None
    assert "--run DIR" in on_cpu["tpot_calibrated_s"].source
    assert on_cpu["device_memory_bytes"].source == "the machine's available memory"
