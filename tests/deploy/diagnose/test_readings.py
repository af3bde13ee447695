"""From text, lines and series to readings."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.samples import Point, Series
from deploy.diagnose.evidence import Reading, of_readings
from deploy.diagnose.readings import of_run, of_series, of_text
from loadgen.server_metrics import ServerSample

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics"
TEXT = """\
# HELP vllm:num_requests_running x
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 3.0
vllm:num_requests_running{engine="1"} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 4.0
vllm:num_requests_waiting_by_reason{engine="0",reason="deferred"} 1.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 7.0
vllm:cache_config_info{cache_dtype="fp8",engine="0"} 1.0
vllm:e2e_request_latency_seconds_bucket{engine="0",le="0.3"} 9.0
something_else_total 5.0
"""


def test_engines_are_added_up_but_the_fullest_cache_counts() -> None:
    reading = of_text(7.0, TEXT)
    assert reading.at_s == 7.0
    assert reading.series == {
        "vllm:num_requests_running": 5.0,
        "vllm:kv_cache_usage_perc": 0.75,
        "vllm:num_requests_waiting_by_reason{capacity}": 4.0,
        "vllm:num_requests_waiting_by_reason{deferred}": 1.0,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{1}": 7.0,
    }
    assert reading.cache_config["cache_dtype"] == "fp8"


def test_a_real_page_has_everything_that_the_rules_read() -> None:
    page = (GOLDEN / "vllm-0.32.0.txt").read_text(encoding="utf-8")
    evidence = of_readings("engine", [Reading(0.0, {}), of_text(60.0, page)])
    seen = (evidence.queue_s, evidence.prefill_s, evidence.decode_s, evidence.ttft_s, evidence.tpot_s)
    assert None not in seen
    assert evidence.requests == 42
    assert evidence.waiting_capacity_max == 0
    assert evidence.preemptions == 0


def test_of_a_run_only_the_measured_phase_counts() -> None:
    def sample(at_s: int, running: float, *, edge: bool = False, error: str | None = None) -> ServerSample:
        series = {} if error else {"vllm:num_requests_running": running}
        return ServerSample(at_s * 10**9, "http://e/metrics", series, {}, edge, error)

    samples = [sample(1, 9), sample(2, 1, edge=True), sample(3, 0, error="away"), sample(4, 3),
               sample(5, 2, edge=True), sample(6, 9)]  # fmt: skip
    [(url, readings)] = of_run(samples).items()
    assert url == "http://e/metrics"
    assert [(r.at_s, r.series["vllm:num_requests_running"]) for r in readings] == [(2, 1), (4, 3), (5, 2)]
    assert of_run(samples[:3]) == {}


def test_series_of_prometheus_are_told_apart_by_engine() -> None:
    def series(instance: str, *values: float) -> Series:
        labels = {"__name__": "vllm:num_requests_running", "instance": instance}
        return Series(labels, tuple(Point(float(number), value) for number, value in enumerate(values)))

    found = of_series([series("b", 4, 5), series("a", 1, 2), series("a", 10, 20)])
    assert list(found) == ["a", "b"]
    assert [r.series["vllm:num_requests_running"] for r in found["a"]] == [11, 22]
    assert [r.at_s for r in found["b"]] == [0.0, 1.0]


def test_a_page_of_something_else_has_no_series() -> None:
    assert of_text(0.0, "<html>not metrics</html>\n").series == {}


def test_a_broken_value_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        of_text(0.0, "vllm:num_requests_running nonsense\n")
