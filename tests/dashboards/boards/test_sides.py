"""The table of a rollout over two revisions made by hand, by Prometheus' own engine; expectations by hand."""

from __future__ import annotations

import pytest
from fakes.promtool import needs_promtool, queries_give

from dashboards.boards.sides import COMPARED, compared
from dashboards.promql import substitute

TPOT = "teapot_gateway_time_per_output_token_seconds"
WHERE = 'deployment="d", path="/v1/completions", role="any", backend="u", traffic="client"'
VALUES = {"deployment": "d", "baseline": "v1", "canary": "v2", "__range": "10m", "enough": "93"}


def test_a_line_s_samples_are_those_that_its_indicator_is_made_of() -> None:
    assert {line.sli: line.of for line in COMPARED}["tpot_p95"] == f"{TPOT}_count"


@pytest.mark.slow
@needs_promtool
def test_columns_are_baseline_canary_ratio_samples_and_whether_they_are_enough() -> None:
    # v1: 60 streams a minute of 20 ms; v2: 6 a minute of 30 ms. Over ten minutes 600 and 60.
    samples = {
        f'{TPOT}_sum{{{WHERE}, revision="v1"}}': "0+1.2x10",
        f'{TPOT}_count{{{WHERE}, revision="v1"}}': "0+60x10",
        f'{TPOT}_sum{{{WHERE}, revision="v2"}}': "0+0.18x10",
        f'{TPOT}_count{{{WHERE}, revision="v2"}}': "0+6x10",
    }
    mean, p95 = '{what="TPOT, mean, s"}', '{what="TPOT, p95, s"}'
    columns = [
        [(mean, 0.02)],
        [(mean, 0.03)],
        [(mean, 1.5)],
        [(mean, 600.0), (p95, 600.0)],
        [(mean, 60.0), (p95, 60.0)],
        [(mean, 0.0), (p95, 0.0)],
    ]
    asked = [substitute(query.expr, VALUES) for query in compared()]
    # Rounded: what Prometheus works out is off by a float's last digit.
    rounded = {f"round({expr}, 0.001)": want for expr, want in zip(asked, columns, strict=True)}
    queries_give(samples, "10m", rounded)
