"""How indicators are put together."""

from __future__ import annotations

from dashboards.promql import Scope
from dashboards.sli import SUMMARIES, load, own, share, vllm

SCOPE = Scope(window="5m")


def test_names_come_from_the_facts() -> None:
    assert own("slo_requests") == "teapot_slo_requests_total"
    assert vllm("preemptions") == "vllm:num_preemptions_total"
    assert load("lag") == "teapot_load_lag_seconds"


def test_a_share_is_zero_where_its_part_was_never_born() -> None:
    whole = 'sum (rate(x{a="b"}[5m]))'
    part = 'sum (rate(x{a="b", c="d"}[5m]))'
    assert share("x", SCOPE, {"c": "d"}, {"a": "b"}) == f"({part} or 0 * {whole}) / ({whole} > 0)"


def test_each_latency_is_told_by_median_tails_and_the_exact_mean() -> None:
    assert list(SUMMARIES) == ["p50", "p95", "p99", "mean"]
    assert SUMMARIES["p99"]("x", SCOPE).startswith("histogram_quantile(0.99, ")
