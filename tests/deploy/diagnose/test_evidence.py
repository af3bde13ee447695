"""Evidence from readings made by hand."""

from __future__ import annotations

import pytest

from deploy.diagnose.evidence import Device, Evidence, Reading, of_readings

BEFORE = Reading(100.0, {
    "vllm:e2e_request_latency_seconds_count": 10, "vllm:e2e_request_latency_seconds_sum": 20,
    "vllm:request_queue_time_seconds_count": 10, "vllm:request_queue_time_seconds_sum": 1,
    "vllm:num_requests_running": 2, "vllm:kv_cache_usage_perc": 0.2, "vllm:num_preemptions_total": 3,
    "vllm:prefix_cache_queries_total": 1000, "vllm:prefix_cache_hits_total": 100,
})  # fmt: skip
AFTER = Reading(160.0, {
    "vllm:e2e_request_latency_seconds_count": 40, "vllm:e2e_request_latency_seconds_sum": 80,
    "vllm:request_queue_time_seconds_count": 40, "vllm:request_queue_time_seconds_sum": 7,
    "vllm:num_requests_running": 6, "vllm:kv_cache_usage_perc": 0.1, "vllm:num_preemptions_total": 3,
    "vllm:prefix_cache_queries_total": 3000, "vllm:prefix_cache_hits_total": 600,
    "vllm:estimated_read_bytes_per_gpu_total": 6e10,
}, {"cache_dtype": "fp8"})  # fmt: skip


def test_counters_are_taken_as_differences_and_gauges_as_they_were() -> None:
    evidence = of_readings("engine", [BEFORE, AFTER])
    assert (evidence.seconds, evidence.requests, evidence.preemptions) == (60.0, 30, 0)
    assert evidence.e2e_s == 2.0
    assert evidence.queue_s == pytest.approx(0.2)
    assert (evidence.running_mean, evidence.running_max, evidence.kv_usage_max_ratio) == (4.0, 6, 0.2)
    assert evidence.prefix_hit_ratio == 0.25
    assert evidence.read_bytes_per_s == 1e9
    assert evidence.cache_config == {"cache_dtype": "fp8"}


def test_what_was_not_seen_is_none_and_not_zero() -> None:
    evidence = of_readings("engine", [BEFORE, AFTER])
    assert (evidence.prefill_s, evidence.ttft_s, evidence.speculated, evidence.flops_per_s) == (None,) * 4
    assert evidence.shares is None
    assert evidence.bandwidth_ratio is None


@pytest.mark.parametrize(
    "series",
    [
        {"vllm:e2e_request_latency_seconds_count": 4},
        {"vllm:e2e_request_latency_seconds_count": 40, "process_start_time_seconds": 99},
    ],
)
def test_another_process_is_noticed(series: dict[str, float]) -> None:
    before = Reading(0, {**BEFORE.series, "process_start_time_seconds": 11})
    assert of_readings("engine", [before, Reading(60, series)]).restarted
    assert not of_readings("engine", [BEFORE, AFTER]).restarted


def test_speculation_is_told_by_position() -> None:
    after = Reading(60, {
        "vllm:spec_decode_num_drafts_total": 50, "vllm:spec_decode_num_draft_tokens_total": 100,
        "vllm:spec_decode_num_accepted_tokens_total": 60,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{1}": 20,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{0}": 40,
    })  # fmt: skip
    speculated = of_readings("engine", [Reading(0, {}), after]).speculated
    assert speculated is not None
    assert (speculated.acceptance_ratio, speculated.acceptance_length) == (0.6, 2.2)
    assert speculated.positions == (0.8, 0.4)


def test_ratios_to_the_device_need_both_sides() -> None:
    device = Device(bandwidth_bytes_per_s=4e9, flops=1e12, source="by hand")
    evidence = Evidence(source="e", seconds=60, read_bytes_per_s=1e9, flops_per_s=5e11, device=device)
    assert (evidence.bandwidth_ratio, evidence.flops_ratio) == (0.25, 0.5)


def test_one_reading_is_no_window() -> None:
    with pytest.raises(ValueError, match="two readings"):
        of_readings("engine", [BEFORE])
