"""The metrics: their values against outcomes made by hand, and their names as a contract."""

from __future__ import annotations

import pytest
from fakes.samples import total

from serving.facts.load import own_metrics
from serving.gateway.backends import Backend
from serving.gateway.metrics import BUCKETS_S, GatewayMetrics, bucket_bounds
from serving.gateway.objectives import Objectives
from serving.gateway.outcome import Gaps, Outcome
from serving.gateway.state import GatewayState
from serving.modes.mode import Verdict

OUTCOME = Outcome(
    request_id="r", path="/v1/completions", kind="ok", status=200, revision="main",
    backend="http://127.0.0.1:9", streamed=True, accepted_ns=10_000_000_000, upstream_sent_ns=10_001_000_000,
    first_byte_ns=10_030_000_000, last_byte_ns=10_400_000_000, ended_ns=10_400_000_000,
    bytes_in=9, bytes_out=99,
)  # fmt: skip


def value(metrics: GatewayMetrics, name: str, **labels: str) -> float | None:
    return total(metrics.registry, name, **labels)


def test_an_outcome_is_counted_and_timed_once() -> None:
    metrics = GatewayMetrics(GatewayState("demo"))
    metrics.observe(OUTCOME)
    name = "teapot_gateway_requests_total"
    assert value(metrics, name, path="/v1/completions", outcome="ok", code="200", revision="main") == 1
    where = {"path": "/v1/completions", "revision": "main", "streamed": "true"}
    first = "teapot_gateway_time_to_first_byte_seconds"
    assert value(metrics, f"{first}_sum", **where) == pytest.approx(0.030)
    assert value(metrics, f"{first}_bucket", **where, le="0.025") == 0
    assert value(metrics, f"{first}_bucket", **where, le="0.05") == 1
    duration = "teapot_gateway_request_duration_seconds"
    assert value(metrics, f"{duration}_sum", **where, outcome="ok") == pytest.approx(0.4)


def test_a_request_without_an_answer_has_no_first_byte() -> None:
    metrics = GatewayMetrics(GatewayState("demo"))
    metrics.observe(OUTCOME._replace(kind="client_gone", status=None, first_byte_ns=None, revision=None))
    labels = {"path": "/v1/completions", "outcome": "client_gone", "code": "none", "revision": "none"}
    assert value(metrics, "teapot_gateway_requests_total", **labels) == 1
    assert value(metrics, "teapot_gateway_time_to_first_byte_seconds_count") is None


def test_what_is_in_flight_is_read_when_asked() -> None:
    state = GatewayState("demo")
    backend = Backend("http://127.0.0.1:9", state="ready")
    state.backends.add(backend)
    metrics = GatewayMetrics(state)
    labels = {"revision": "main", "role": "any", "backend": "http://127.0.0.1:9"}
    with backend.serving():
        assert value(metrics, "teapot_gateway_backend_requests_in_flight", **labels) == 1
    assert value(metrics, "teapot_gateway_backend_requests_in_flight", **labels) == 0
    assert value(metrics, "teapot_gateway_backend_ready", **labels) == 1
    backend.state = "down"
    assert value(metrics, "teapot_gateway_backend_ready", **labels) == 0


def test_a_mode_nobody_could_judge_is_absent_and_not_zero() -> None:
    state = GatewayState("demo")
    state.verdicts = [
        Verdict("prefix_cache", "on", True, ""),
        Verdict("quantized_kv", "fp8", False, ""),
        Verdict("speculative", "on", None, ""),
        Verdict("prefix_cache", "on", False, "of a second engine"),
    ]
    metrics = GatewayMetrics(state)
    assert value(metrics, "teapot_mode_in_effect", kind="prefix_cache") == 0
    assert value(metrics, "teapot_mode_in_effect", kind="quantized_kv") == 0
    assert value(metrics, "teapot_mode_in_effect", kind="speculative") is None


def test_every_exposed_family_is_declared_and_every_declared_one_exposed() -> None:
    metrics = GatewayMetrics(GatewayState("demo"))
    metrics.observe(OUTCOME)
    exposed = {family.name for family in metrics.registry.collect()}
    assert exposed == {row.name.removesuffix("_total") for row in own_metrics().values()}


def test_an_answer_is_measured_by_tokens_pieces_and_where_it_came_from() -> None:
    metrics = GatewayMetrics(GatewayState("demo"), Objectives(ttft_s=0.07))
    gaps = Gaps(metrics.gap_bounds_ns)
    for gap_ms in (60, 70, 240):
        gaps.add(gap_ms * 1_000_000)
    metrics.observe(
        OUTCOME._replace(role="decode", tokens_in=12, tokens_out=11, gaps=gaps, admitted_ns=10_000_500_000)
    )
    where = {"revision": "main", "role": "decode", "backend": "http://127.0.0.1:9", "traffic": "client"}
    # 370 ms between first and last piece, 10 tokens after the first.
    assert value(metrics, "teapot_gateway_time_per_output_token_seconds_sum", **where) == pytest.approx(0.037)
    assert value(metrics, "teapot_gateway_prompt_tokens_total", **where) == 12
    assert value(metrics, "teapot_gateway_output_tokens_total", **where) == 11
    chunk = "teapot_gateway_inter_chunk_seconds"
    assert value(metrics, f"{chunk}_bucket", **where, le="0.05") == 0
    assert value(metrics, f"{chunk}_bucket", **where, le="0.07") == 2
    assert value(metrics, f"{chunk}_count", **where) == 3
    assert value(metrics, f"{chunk}_sum", **where) == pytest.approx(0.37)
    assert value(metrics, "teapot_gateway_queue_time_seconds_sum") == pytest.approx(0.0005)


def test_failed_tries_fallbacks_and_kept_connections_are_counted_where_they_happened() -> None:
    metrics = GatewayMetrics(GatewayState("demo"))
    metrics.observe(
        OUTCOME._replace(missed=(("canary", "any", "http://x"),), fallback="prefill_failed", reused=True,
                prefill_s=0.25)
    )  # fmt: skip
    assert value(metrics, "teapot_gateway_failed_tries_total", revision="canary", backend="http://x") == 1
    assert value(metrics, "teapot_gateway_fallbacks_total", reason="prefill_failed", revision="main") == 1
    assert value(metrics, "teapot_gateway_backend_connections_total", connection="reused") == 1
    assert value(metrics, "teapot_gateway_prefill_leg_seconds_sum", revision="main") == 0.25


def test_the_objectives_are_among_the_buckets() -> None:
    assert bucket_bounds([0.7, 0.5]) == tuple(sorted({*BUCKETS_S, 0.7}))


def test_two_gateways_in_one_process_do_not_share_metrics() -> None:
    first, second = (GatewayMetrics(GatewayState(name)) for name in ("a", "b"))
    first.observe(OUTCOME)
    assert b"teapot_gateway_requests_total{" not in second.exposition()


def test_the_buckets_begin_at_a_millisecond_and_rise() -> None:
    assert BUCKETS_S[0] == 0.001
    assert list(BUCKETS_S) == sorted(set(BUCKETS_S))


def test_requests_are_judged_by_the_objectives_of_their_deployment() -> None:
    metrics = GatewayMetrics(GatewayState("demo"), Objectives(ttft_s=0.02, latency_target_ratio=0.9))
    metrics.observe(OUTCOME)
    name = "teapot_slo_requests_total"
    where = {"revision": "main", "role": "none", "backend": "http://127.0.0.1:9"}
    assert value(metrics, name, slo="ttft", met="false", **where) == 1
    assert value(metrics, name, slo="availability", met="true", **where) == 1
    assert value(metrics, name, slo="tpot") is None
    assert value(metrics, "teapot_slo_threshold_seconds", slo="ttft") == 0.02
    assert value(metrics, "teapot_slo_target_ratio", slo="ttft") == 0.9
    assert value(metrics, "teapot_slo_target_ratio", slo="availability") == 0.995
    assert value(metrics, "teapot_slo_target_ratio", slo="e2e") is None


def test_an_engine_that_failed_is_counted_for_its_backend() -> None:
    state = GatewayState("demo")
    backend = Backend("http://127.0.0.1:9", state="ready")
    state.backends.add(backend)
    metrics = GatewayMetrics(state)
    assert value(metrics, "teapot_engine_failures_total", backend=backend.url) == 0
    backend.failures += 1
    assert value(metrics, "teapot_engine_failures_total", backend=backend.url) == 1


def test_judgements_are_counted_from_0_on_so_that_the_first_misses_are_an_increase() -> None:
    state = GatewayState("demo")
    state.backends.add(Backend("http://127.0.0.1:9", state="ready"))
    metrics = GatewayMetrics(state, Objectives(ttft_s=0.5))
    name = "teapot_slo_requests_total"
    for slo in ("availability", "ttft"):
        for met in ("true", "false"):
            assert value(metrics, name, slo=slo, met=met, revision="main", backend="http://127.0.0.1:9") == 0
            assert value(metrics, name, slo=slo, met=met, revision="none", backend="none") == 0
    assert value(metrics, name, slo="tpot") is None
    metrics.observe(OUTCOME)
    assert value(metrics, name, slo="ttft", met="true", revision="main") == 1
