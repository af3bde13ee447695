"""A client's numbers against Prometheus', both made up so that it is plain whether they agree."""

from __future__ import annotations

import math

import pytest

from dashboards.agreement import ClientView, Distribution, Measure, Percentile, compare, measures

VIEW = ClientView(
    run="r1", began_s=1000.0, measured_s=1010.5, sent=64, paths=("/v1/chat/completions",),
    ends_s=(*range(1011, 1070), 1070.25),
    latencies={"ttft": Distribution(0.15, (Percentile(0.5, 0.13, 0.11, 0.16),))},
)  # fmt: skip
BOUNDS = [0.05, 0.1, 0.25, 0.5, math.inf]


def measure(
    low: float, high: float | None = None, *, allowed: float = 0.0, buckets: str | None = None
) -> Measure:
    return Measure(
        what="TTFT p50", where="gateway", unit="s", low=low, high=low if high is None else high,
        allowed=allowed, expression="x", buckets=buckets,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("client", "agrees"),
    [(0.13, True), (0.24, True), (0.101, True), (0.26, False), (0.09, False)],
)
def test_a_quantile_agrees_where_the_clients_lies_in_its_bucket(client, agrees):
    assert compare(measure(client, buckets="b"), 0.2, BOUNDS).agrees is agrees


def test_the_clients_interval_may_reach_into_the_bucket():
    assert compare(measure(0.08, 0.12, buckets="b"), 0.2, BOUNDS).agrees is True
    assert compare(measure(0.06, 0.09, buckets="b"), 0.2, BOUNDS).agrees is False


def test_a_quantile_above_the_last_bucket_is_known_to_no_upper_bound():
    found = compare(measure(99.0, buckets="b"), 0.5, BOUNDS)
    assert found.agrees is False
    assert compare(measure(99.0, buckets="b"), 0.6, BOUNDS).agrees is True


def test_a_mean_agrees_within_what_is_allowed():
    assert compare(measure(0.15, allowed=0.01), 0.159, []).agrees is True
    assert compare(measure(0.15, allowed=0.01), 0.161, []).agrees is False


def test_milliseconds_over_seconds_differ():
    assert compare(measure(0.15, allowed=0.02), 150.0, []).word == "DIFFER"


@pytest.mark.parametrize("value", [None, math.inf])
def test_no_number_is_nothing_to_compare_and_not_a_difference(value):
    found = compare(measure(0.15), value, [])
    assert (found.agrees, found.word) == (None, "nothing to compare")


def test_requests_are_counted_from_before_the_run_with_its_warm_up():
    (requests,) = [m for m in measures(VIEW, "d", 5.0) if m.where == "gateway" and m.unit == "requests"]
    assert (requests.low, requests.before_s) == (64, 1000.0)
    assert 'traffic="client"' in requests.expression
    assert 'path=~"/v1/chat/completions"' in requests.expression
    # The one-token request before a run may have been counted before it or not.
    assert [compare(requests, count, []).agrees for count in (63, 64, 66, 67)] == [False, True, True, False]


def test_the_generator_may_have_ended_before_its_last_answers_were_scraped():
    (ended,) = [m for m in measures(VIEW, "d", 5.0) if m.where == "load generator" and m.unit == "requests"]
    # 60 ended; those after 1070.25 - 5 - 1 need not be in a sample: 1065 to 1069, and the last.
    assert (ended.low, ended.high) == (54, 60)
    assert [compare(ended, count, []).agrees for count in (53, 54, 60, 61)] == [False, True, True, False]


def test_rates_look_over_the_measured_time_until_the_end_is_scraped():
    found = {(m.what, m.where): m for m in measures(VIEW, "d", 5.0)}
    mean = found["TTFT mean", "gateway"]
    assert "[70s]" in mean.expression  # 1010.5 to 1070.25, and two scrapes
    assert 'deployment="d"' in mean.expression
    assert found["TTFT p50", "engines"].expression.startswith(
        "histogram_quantile(0.5, sum by (le) (rate(vllm:"
    )
    assert 'run="r1"' in found["TTFT mean", "load generator"].expression


def test_only_what_the_client_has_is_compared():
    assert {m.what for m in measures(VIEW, "d", 5.0)} == {"requests", "TTFT mean", "TTFT p50"}
