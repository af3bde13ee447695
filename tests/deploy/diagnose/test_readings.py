"""From readings made by hand, and a real page, to evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dashboards.samples import Point, Series
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.readings import evidence_of, of_run, of_series
from loadgen.server_metrics import ServerSample, read_metrics

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics"
BEFORE = {
    "vllm:e2e_request_latency_seconds_count": 10, "vllm:e2e_request_latency_seconds_sum": 20,
    "vllm:request_queue_time_seconds_count": 10, "vllm:request_queue_time_seconds_sum": 1,
    "vllm:num_requests_running": 2, "vllm:kv_cache_usage_perc": 0.2, "vllm:num_preemptions_total": 3,
    "vllm:num_requests_waiting": 0, "vllm:prefix_cache_queries_total": 1000,
    "vllm:prefix_cache_hits_total": 100, "vllm:iteration_tokens_total_sum": 500,
    "vllm:iteration_tokens_total_count": 50,
}  # fmt: skip
AFTER = {
    "vllm:e2e_request_latency_seconds_count": 40, "vllm:e2e_request_latency_seconds_sum": 80,
    "vllm:request_queue_time_seconds_count": 40, "vllm:request_queue_time_seconds_sum": 7,
    "vllm:num_requests_running": 6, "vllm:kv_cache_usage_perc": 0.1, "vllm:num_preemptions_total": 3,
    "vllm:num_requests_waiting": 5, "vllm:prefix_cache_queries_total": 3000,
    "vllm:prefix_cache_hits_total": 600, "vllm:iteration_tokens_total_sum": 2900,
    "vllm:iteration_tokens_total_count": 250, "vllm:estimated_read_bytes_per_gpu_total": 6e10,
    "vllm:estimated_flops_per_gpu_total": 0,
}  # fmt: skip


def at(seconds: float, series: Mapping[str, float], **more: str) -> ServerSample:
    return ServerSample(round(seconds * 1e9), "http://e/metrics", series, more)


def seen(*samples: ServerSample) -> Evidence:
    return evidence_of("engine", samples)


def test_counters_are_taken_as_differences_and_gauges_as_they_were() -> None:
    evidence = seen(at(100, BEFORE), at(160, AFTER, cache_dtype="fp8"))
    assert (evidence.seconds, evidence.requests, evidence.preemptions) == (60.0, 30, 0)
    assert evidence.e2e_s == 2.0
    assert evidence.queue_s == pytest.approx(0.2)
    assert (evidence.running_mean, evidence.running_max, evidence.kv_usage_max_ratio) == (4.0, 6, 0.2)
    assert (evidence.waiting_mean, evidence.waiting_max) == (2.5, 5)
    assert (evidence.prefix_hit_ratio, evidence.step_tokens) == (0.25, 12.0)
    assert evidence.read_bytes_per_s == 1e9
    assert evidence.cache_config == {"cache_dtype": "fp8"}


def test_what_was_not_seen_is_none_and_not_zero() -> None:
    evidence = seen(at(100, BEFORE), at(160, AFTER))
    assert (evidence.prefill_s, evidence.ttft_s, evidence.speculated, evidence.shares) == (None,) * 4


def test_an_estimate_that_stayed_at_zero_was_never_made() -> None:
    # vLLM shows these series without --enable-mfu-metrics too.
    assert seen(at(100, BEFORE), at(160, AFTER)).flops_per_s is None


def test_requests_in_the_engine_are_counted_by_their_time_in_it() -> None:
    times = {
        "vllm:request_prefill_time_seconds_sum": 60, "vllm:request_prefill_time_seconds_count": 30,
        "vllm:request_decode_time_seconds_sum": 180, "vllm:request_decode_time_seconds_count": 30,
    }  # fmt: skip
    # 30 requests of 2 + 6 s within 60 s. The gauge is 0 between a step's end and the next one's.
    idle = {"vllm:num_requests_running": 0}
    assert seen(at(100, BEFORE | idle), at(160, AFTER | times | idle)).running_mean == 4.0


def test_it_worked_where_something_ran_or_a_token_came() -> None:
    def moment(second: int, tokens: int, running: int) -> ServerSample:
        return at(second, {"vllm:generation_tokens_total": tokens, "vllm:num_requests_running": running})

    evidence = seen(moment(0, 0, 0), moment(1, 0, 0), moment(2, 9, 0), moment(3, 9, 1), moment(4, 9, 0))
    assert evidence.busy_ratio == 0.75


def test_another_process_is_noticed_and_nothing_is_told_of_it() -> None:
    fell = seen(at(0, BEFORE), at(60, {**AFTER, "vllm:e2e_request_latency_seconds_count": 4}))
    assert (fell.restarted, fell.requests) == (True, None)
    anew = seen(
        at(0, BEFORE | {"process_start_time_seconds": 11}), at(60, AFTER | {"process_start_time_seconds": 99})
    )
    assert anew.restarted
    assert not seen(at(0, BEFORE), at(60, AFTER)).restarted


def test_speculation_is_told_by_position() -> None:
    after = {
        "vllm:spec_decode_num_drafts_total": 50, "vllm:spec_decode_num_draft_tokens_total": 100,
        "vllm:spec_decode_num_accepted_tokens_total": 60,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{1}": 20,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{0}": 40,
    }  # fmt: skip
    speculated = seen(at(0, BEFORE), at(60, AFTER | after)).speculated
    assert speculated is not None
    assert (speculated.acceptance_ratio, speculated.acceptance_length) == (0.6, 2.2)
    assert speculated.positions == (0.8, 0.4)


def test_a_reading_that_failed_is_left_out() -> None:
    failed = ServerSample(30 * 10**9, "http://e/metrics", error="away")
    assert seen(at(0, BEFORE), failed, at(60, AFTER)).requests == 30


def test_one_reading_is_no_window() -> None:
    with pytest.raises(ValueError, match="two readings"):
        seen(at(0, BEFORE))


def test_a_real_page_has_everything_that_the_rules_read() -> None:
    series, _ = read_metrics((GOLDEN / "vllm-0.32.0.txt").read_text(encoding="utf-8"))
    evidence = seen(at(0, {"vllm:num_requests_running": 0}), at(60, series))
    told = (evidence.queue_s, evidence.prefill_s, evidence.decode_s, evidence.ttft_s, evidence.tpot_s)
    assert None not in told
    assert (evidence.requests, evidence.preemptions, evidence.computed_prompt_tokens) == (42, 0, 5190)
    assert evidence.step_tokens == pytest.approx(7822 / 268)


def test_of_a_run_only_the_measured_phase_counts() -> None:
    def sample(second: int, running: float, *, edge: bool = False, error: str | None = None) -> ServerSample:
        series = {} if error else {"vllm:num_requests_running": running}
        return ServerSample(second * 10**9, "http://e/metrics", series, {}, edge, error)

    samples = [sample(1, 9), sample(2, 1, edge=True), sample(3, 0, error="away"), sample(4, 3),
               sample(5, 2, edge=True), sample(6, 9)]  # fmt: skip
    [(url, readings)] = of_run(samples).items()
    assert url == "http://e/metrics"
    assert [(r.t_ns // 10**9, r.series["vllm:num_requests_running"]) for r in readings] == [
        (2, 1),
        (4, 3),
        (5, 2),
    ]
    assert of_run(samples[:3]) == {}


def test_series_of_prometheus_are_told_apart_by_engine() -> None:
    def series(instance: str, *values: float) -> Series:
        labels = {"__name__": "vllm:num_requests_running", "instance": instance}
        return Series(labels, tuple(Point(float(number), value) for number, value in enumerate(values)))

    found = of_series([series("b", 4, 5), series("a", 1, 2), series("a", 10, 20)])
    assert list(found) == ["a", "b"]
    assert [r.series["vllm:num_requests_running"] for r in found["a"]] == [11, 22]
    assert [r.t_ns for r in found["b"]] == [0, 10**9]
