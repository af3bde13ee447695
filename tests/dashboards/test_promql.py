"""PromQL as it is written by hand."""

from __future__ import annotations

import pytest

from dashboards import promql
from dashboards.promql import Scope

SCOPE = Scope(('deployment="d"',), ("revision",), "5m")


def test_a_selector_has_equalities_before_the_scope_s_matchers() -> None:
    assert promql.series("x", SCOPE, slo="ttft") == 'x{slo="ttft", deployment="d"}'


def test_a_selector_of_everything_has_no_braces() -> None:
    assert promql.series("x") == "x"


def test_a_rate_has_the_scope_s_window() -> None:
    assert promql.total_rate("x_total", SCOPE) == 'sum by (revision) (rate(x_total{deployment="d"}[5m]))'


def test_a_quantile_is_summed_by_le_first() -> None:
    assert promql.quantile(0.95, "x", Scope(window="5m")) == (
        "histogram_quantile(0.95, sum by (le) (rate(x_bucket[5m])))"
    )


def test_a_mean_is_the_sum_by_the_count_and_nothing_without_any() -> None:
    assert promql.mean("x", Scope(window="5m")) == "sum (rate(x_sum[5m])) / (sum (rate(x_count[5m])) > 0)"


def test_zero_is_given_only_where_something_is_alive() -> None:
    assert promql.or_zero("a", "b") == "(a or 0 * b)"


def test_narrowing_and_splitting_leave_the_scope_as_it_was() -> None:
    narrow = SCOPE.only('role="any"').split("role", "revision").over("1h")
    assert narrow == Scope(('deployment="d"', 'role="any"'), ("revision", "role"), "1h")
    assert SCOPE.window == "5m"


def test_variables_are_replaced_by_their_whole_name() -> None:
    text = "rate(x[$__rate_interval]) * $a_b + ${a}"
    assert promql.substitute(text, {"__rate_interval": "1m", "a": "2", "a_b": "3"}) == "rate(x[1m]) * 3 + 2"
    assert promql.variables(text) == {"__rate_interval", "a", "a_b"}


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(KeyError, match="gone"):
        promql.substitute("x > $gone", {})
