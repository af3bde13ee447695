"""Each measure from a cell whose numbers were written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.study.measures import BY_NAME, START_MEASURES, Measure, Seen, StartMeasure
from deploy.study.rows import Arm, CellRow, Planned, StartRow

START = StartRow(
    start=1, arm="a", state="ended", began="t", took_s=40.0, kv_cache_tokens=1000, kv_cache_bytes=2000,
    weights_bytes=500,
)  # fmt: skip
LOAD = {
    "output_tokens_per_s": 40.0,
    "requests_per_s": 2.0,
    "steady": {"output_tokens_per_s": 50.0, "in_flight_mean": 3.9},
    "ttft_s": {"n": 8, "mean": 0.3, "p50": 0.25, "p95": None},
    "tpot_s": {"n": 8, "mean": 0.05, "p50": 0.04, "p95": None},
    "goodput": {"ratio": 0.75},
    "requests": {"failed": 1},
    "server": {"queue_mean_s": 0.01, "prefill_mean_s": 0.2, "decode_mean_s": None},
}
COUNTERS = {
    "vllm:generation_tokens_total": 100.0,
    "vllm:time_to_first_token_seconds_count": 4.0,
    "vllm:inter_token_latency_seconds_count": 32.0,
    "vllm:prompt_tokens_total": 300.0,
    "vllm:spec_decode_num_drafts_total": 20.0,
    "vllm:spec_decode_num_draft_tokens_total": 80.0,
    "vllm:spec_decode_num_accepted_tokens_total": 60.0,
    "vllm:spec_decode_num_accepted_tokens_per_pos_total{0}": 18.0,
    "vllm:spec_decode_num_accepted_tokens_per_pos_total{1}": 15.0,
    "vllm:prefix_cache_queries_total": 400.0,
    "vllm:prefix_cache_hits_total": 128.0,
    "vllm:num_preemptions_total": 0.0,
}


def seen(counters=COUNTERS, load=LOAD, start=START):
    cell = CellRow(
        cell="001", start=1, arm="a", block=1, workload="w", state="done", began="t", took_s=9.0,
        counters=counters, gauges={"kv_cache_usage_max_ratio": 0.1}, window_s=8.0,
    )  # fmt: skip
    arm = Arm(name="a", deployment={}, model="m", planned=Planned(weight_bytes=700))
    return Seen(cell, arm, start, load)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output_tokens_per_s", 50.0),
        ("total_tokens_per_s", 50.0),  # (300 + 100) / 8 s
        ("tokens_per_s_per_user", 25.0),
        ("requests_per_s", 2.0),
        ("ttft_p50_s", 0.25),
        ("tpot_mean_s", 0.05),
        ("goodput_ratio", 0.75),
        ("requests_failed", 1.0),
        ("in_flight_mean", 3.9),
        ("acceptance_ratio", 0.75),  # 60 / 80
        ("acceptance_length", 4.0),  # 1 + 60 / 20
        ("tokens_per_pass", 3.0),  # (100 - 4) / 32
        ("drafted_share", 0.64),  # 1 - (4 + 32) / 100
        ("accepted_at_position_1", 0.9),
        ("accepted_at_position_2", 0.75),
        ("prefix_hit_ratio", 0.32),
        ("kv_in_use_bytes", 200.0),
        ("memory_bytes", 700.0),  # 500 loaded + 200 in use
        ("preemptions", 0.0),
        ("prefill_mean_s", 0.2),
    ],
)
def test_a_measure_is_what_its_definition_says(name, value):
    measure = BY_NAME[name]
    assert isinstance(measure, Measure)
    assert measure.of(seen()) == pytest.approx(value)


@pytest.mark.parametrize(
    "name",
    ["ttft_p95_s", "decode_mean_s", "accepted_at_position_3"],
)
def test_what_is_not_told_is_none_and_never_zero(name):
    measure = BY_NAME[name]
    assert isinstance(measure, Measure)
    assert measure.of(seen()) is None


def test_without_speculation_there_is_no_acceptance():
    counters = {"vllm:generation_tokens_total": 100.0}
    for name in ("acceptance_ratio", "acceptance_length", "tokens_per_pass", "drafted_share"):
        measure = BY_NAME[name]
        assert isinstance(measure, Measure)
        assert measure.of(seen(counters)) is None


def test_where_no_part_was_steady_the_whole_window_counts():
    measure = BY_NAME["output_tokens_per_s"]
    assert isinstance(measure, Measure)
    assert measure.of(seen(load={**LOAD, "steady": None})) == 40.0


def test_memory_takes_the_planners_weights_where_the_engine_does_not_tell():
    from dataclasses import replace

    measure = BY_NAME["memory_bytes"]
    assert isinstance(measure, Measure)
    assert measure.of(seen(start=replace(START, weights_bytes=None))) == 900.0


@pytest.mark.parametrize(
    ("name", "value"), [("kv_cache_tokens", 1000), ("start_s", 40.0), ("weights_bytes", 500)]
)
def test_a_start_tells_its_own(name, value):
    measure = BY_NAME[name]
    assert isinstance(measure, StartMeasure)
    assert measure.of(START) == value


def test_a_start_of_two_engines_tells_of_both_together():
    """The first engine tells of its cache, and the other is started like it; logs tell of all weights."""
    two = replace(START, engines=2)
    told = {row.name: row.of(two) for row in START_MEASURES}
    assert (told["kv_cache_tokens"], told["kv_cache_bytes"], told["weights_bytes"]) == (2000, 4000, 500)
    assert BY_NAME["memory_bytes"].of(seen(start=two)) == 500 + 0.1 * 4000
    assert BY_NAME["kv_cache_tokens"].of(replace(two, kv_cache_tokens=None)) is None


def test_names_are_given_once_and_every_row_says_what_it_is():
    assert len(BY_NAME) == len({row.name for row in BY_NAME.values()})
    assert all(row.title and row.definition for row in BY_NAME.values())


def test_tokens_accepted_beyond_the_end_of_an_answer_are_not_taken_for_given_ones():
    """As a real engine counted it: 6 answers of 24 tokens with k = 8, and 144 drafted tokens accepted."""
    counters = {
        "vllm:generation_tokens_total": 144.0,
        "vllm:time_to_first_token_seconds_count": 6.0,
        "vllm:inter_token_latency_seconds_count": 18.0,
        "vllm:spec_decode_num_drafts_total": 18.0,
        "vllm:spec_decode_num_accepted_tokens_total": 144.0,
    }
    per_pass, drafted = BY_NAME["tokens_per_pass"], BY_NAME["drafted_share"]
    assert isinstance(per_pass, Measure)
    assert isinstance(drafted, Measure)
    assert per_pass.of(seen(counters)) == pytest.approx(138 / 18)  # of at most 9
    assert drafted.of(seen(counters)) == pytest.approx(120 / 144)
