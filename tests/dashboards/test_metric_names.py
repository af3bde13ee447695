"""Wrong expressions, each wrong in one way; and every expression that is committed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fakes.exposed import catalogue

from dashboards.metric_names import read, undivided_sums

PREEMPTED = "vllm:num_preemptions_total"
TTFT = "vllm:time_to_first_token_seconds"
WRONG = {
    "rate(vllm:num_preemptions[5m])": "did you mean vllm:num_preemptions_total",
    "vllm:gpu_cache_usage_perc": "not exposed",
    "vllm:num_requests_swapped": "not exposed",
    "rate(vllm:time_per_output_token_seconds_sum[5m])": "not exposed",
    f"rate({TTFT}[5m])": "is a histogram",
    PREEMPTED: "only grows",
    "rate(vllm:kv_cache_usage_perc[5m])": "goes up and down",
    f'rate({PREEMPTED}{{revison="a"}}[5m])': "no label 'revison'",
    'vllm:num_requests_waiting_by_reason{reason="memory"}': 'no reason="memory" (only capacity, deferred)',
    'rate(teapot_gateway_requests_total{outcome="aborted"}[5m])': 'no outcome="aborted"',
    'up{job="vllm"}': 'no job="vllm"',
    f"histogram_quantile(0.95, rate({TTFT}_bucket[5m]))": "wants `sum by (le)`",
    f"histogram_quantile(0.95, sum by (role) (rate({TTFT}_bucket[5m])))": "wants `sum by (le)`",
    f"avg(histogram_quantile(0.95, sum by (le, role) (rate({TTFT}_bucket[5m]))))": "no quantile",
    f"sum by (backend) (rate({PREEMPTED}[5m]))": "`sum by (backend)` keeps a label",
    f"sum by (role) (rate({PREEMPTED}[5m])) / sum by (revision) (rate({PREEMPTED}[5m]))": "nothing matches",
    f"sum (rate({PREEMPTED}[5m])) / on (role) sum (rate({PREEMPTED}[5m]))": "`on (role)` matches by",
    f"sum (rate({TTFT}_sum[5m])) / sum (rate({PREEMPTED}[5m]))": "divided by something else",
    "sum (rate(": "no PromQL",
    '{deployment="d"}': "without a metric's name",
}


@pytest.mark.parametrize("expression", WRONG)
def test_what_is_wrong_is_said(expression: str) -> None:
    problems = read(expression, catalogue()).problems
    assert any(WRONG[expression] in problem for problem in problems), problems


RIGHT: dict[str, set[str] | None] = {
    f"sum by (role) (rate({PREEMPTED}[5m]))": {"role"},
    f"histogram_quantile(0.95, sum by (le, role) (rate({TTFT}_bucket[5m])))": {"role"},
    f"sum (rate({TTFT}_sum[5m])) / (sum (rate({TTFT}_count[5m])) > 0)": set(),
    "max without (engine, model_name, job, deployment, instance) (vllm:kv_cache_usage_perc)": {
        "revision",
        "role",
    },
    f'label_replace(sum (rate({PREEMPTED}[5m])), "what", "x", "", "")': {"what"},
    f"sum by (role) (rate({PREEMPTED}[5m])) / on () group_left () sum (rate({PREEMPTED}[5m]))": {"role"},
    f"1 - sum by (role) (rate({PREEMPTED}[5m]))": {"role"},
    "vector(14.4)": set(),
    "min_over_time(vllm:num_requests_running[5m]) and on (role) up": None,
}


@pytest.mark.parametrize("expression", RIGHT)
def test_what_is_right_is_left_alone_and_its_labels_are_known(expression: str) -> None:
    found = read(expression, catalogue())
    assert found.problems == []
    wanted = RIGHT[expression]
    if wanted is not None:
        assert sorted(found.labels) == sorted(wanted)


def test_windows_are_told_with_their_functions() -> None:
    found = read(f"rate({PREEMPTED}[5m]) + increase({PREEMPTED}[1h])", catalogue())
    assert found.windows == [("rate", timedelta(minutes=5)), ("increase", timedelta(hours=1))]


def test_a_sum_of_seconds_that_is_divided_by_nothing_is_found() -> None:
    alone = "rate(vllm:request_queue_time_seconds_sum[5m])"
    assert list(undivided_sums(alone)) == ["vllm:request_queue_time_seconds_sum"]
    assert list(undivided_sums(f"{alone} / rate(vllm:request_queue_time_seconds_count[5m])")) == []
