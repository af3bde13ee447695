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
    assert on_cpu["device_memory_bytes"].source == "available on this machine, a rank's share"


def test_whatever_is_fitted_has_a_band_around_it_and_nothing_else_has() -> None:
    found = figures(plan(users=20, lengths=Lengths(400, 100, 512, 2048)), overheads())
    for name, figure in found.items():
        if figure.kind == "fitted":
            assert figure.low is not None, name
            assert figure.value is not None, name
            assert figure.high is not None, name
            assert figure.low <= figure.value <= figure.high, name
        elif figure.kind != "default":
            assert (figure.low, figure.high) == (None, None), name


def test_the_ends_of_a_band_are_the_answers_at_the_ends_of_the_overheads() -> None:
    """Non-torch 289,910,292 bytes by half; the peak, 3.9 * 1,024 * 128,256 * 4, by a quarter; graphs 0.5 to
    1.85 GiB for 1 GiB."""
    peak = round(3.9 * 1024 * 128256 * 4)
    overhead = figures(plan(), overheads())["overhead_bytes_per_rank"]
    spread = round(peak * 0.25) + round(289_910_292 * 0.5)
    assert overhead.value == peak + 289_910_292 + 2**30
    assert overhead.low == overhead.value - spread - 2**29
    assert overhead.high == overhead.value + spread + 1_986_422_374 - 2**30
    users = figures(plan(), overheads())["users_at_max_model_len"]
    worst = plan().budget.low_bytes
    assert users.low == plan(kv_cache_bytes=worst).users.at_max


def test_what_is_missing_has_a_band_too() -> None:
    missing = figures(plan(shape("meta-llama/Meta-Llama-3.1-70B")), overheads())["missing_bytes_per_rank"]
    assert missing.low is not None
    assert missing.value is not None
    assert missing.high is not None
    assert missing.low < missing.value < missing.high


def test_the_memory_of_a_device_says_who_told_it() -> None:
    h100 = gpus()["h100-sxm"]

    def memory(**changes):
        return figures(plan(**changes), overheads())["device_memory_bytes"]

    assert (memory().kind, memory().source[:8]) == ("default", "recorded")
    given = replace(h100, memory_bytes=2**36, memory_kind="given")
    assert (memory(gpu=given).kind, memory(gpu=given).source) == ("given", "--gpu-memory")
    read = replace(h100, memory_kind="device")
    assert (memory(gpu=read).kind, memory(gpu=read).source) == ("measured", "read from the device")


def test_a_given_cache_has_no_overheads_beside_it_which_is_not_none_of_them() -> None:
    found = figures(plan(kv_cache_bytes=2**33), overheads())
    assert found["overhead_bytes_per_rank"].value is None
    assert "not part of it" in found["overhead_bytes_per_rank"].source
    assert found["gpu_memory_utilization"].value is None


def test_the_first_token_is_calibrated_as_decode_is_but_for_a_run_which_tells_its_own() -> None:
    floor = figures(plan(), overheads())["ttft_floor_s"].value
    assert floor is not None
    default = figures(plan(), overheads())["ttft_calibrated_s"]
    assert (default.kind, default.low, default.high) == ("default", floor / 0.57, floor / 0.45)
    assert "taken for prompts too" in default.source
    assert figures(plan(efficiency=0.5), overheads())["ttft_calibrated_s"].value == 2 * floor
    run = figures(plan(efficiency=0.5, efficiency_source="runs/1"), overheads())["ttft_calibrated_s"]
    assert (run.value, run.source) == (None, "the run tells its own TTFT")


def test_a_transfer_is_told_against_the_prefill_that_it_follows() -> None:
    found = figures(plan(link_bytes_per_s=50e9), overheads())
    # 1.074 GB at 50 GB/s are 21.5 ms, and 8,192 tokens take 133 ms.
    assert found["kv_transfer_ratio"].value == pytest.approx(21.5 / 133.4, rel=0.01)
