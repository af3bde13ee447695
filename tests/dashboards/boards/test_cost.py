"""Dollars over samples made by hand, by Prometheus' own engine; expectations by hand."""

from __future__ import annotations

import pytest
from fakes.promtool import needs_promtool, queries_give

from dashboards.boards.cost import COST
from dashboards.promql import substitute

ENGINE = 'deployment="d", model_name="m", engine="0"'
# A minute: 6000 output tokens, 9000 prompt tokens of which 3000 were cached.
SAMPLES = {
    f"vllm:generation_tokens_total{{{ENGINE}}}": "0+6000x60",
    f'vllm:prompt_tokens_by_source_total{{{ENGINE}, source="local_compute"}}': "0+6000x60",
    f'vllm:prompt_tokens_by_source_total{{{ENGINE}, source="local_cache_hit"}}': "0+3000x60",
    f"vllm:prompt_tokens_cached_total{{{ENGINE}}}": "0+3000x60",
}


def asked(key: str, **typed: str) -> list[str]:
    values = {"deployment": "d", "__range": "1h", "__range_s": "3600", "__rate_interval": "1m"}
    panel = next(panel for panel in COST.panels() if panel.key == key)
    return [
        f"round({substitute(query.expr, {**values, 'devices': '2', 'price': '3', **typed})}, 0.0001)"
        for query in panel.queries
    ]


@pytest.mark.slow
@needs_promtool
def test_two_devices_at_three_dollars_cost_six_dollars_an_hour() -> None:
    # 360000 output tokens an hour for 6 $: 16.6667 $ a million. All 900000 tokens: 6.6667 $.
    computed, served = asked("cached_against_computed")
    expected = {
        asked("spent")[0]: [("{}", 6.0)],
        asked("per_output")[0]: [("{}", 16.6667)],
        asked("per_token")[0]: [("{}", 6.6667)],
        asked("price_over_time")[0]: [("{}", 16.6667)],
        # 12000 of 15000 tokens a minute were computed.
        computed: [("{}", 8.3333)],
        served: [("{}", 6.6667)],
        asked("per_device")[0]: [("{}", 50.0)],
        asked("cached_ratio")[0]: [("{}", 0.3333)],
    }
    queries_give(SAMPLES, "1h", expected)


@pytest.mark.slow
@needs_promtool
def test_without_a_price_or_devices_there_is_no_number() -> None:
    unset: dict[str, list[tuple[str, float]]] = {
        asked(key, **typed)[0]: []
        for key in ("spent", "per_output", "per_token", "price_over_time")
        for typed in ({"price": "0"}, {"devices": "0"})
    }
    queries_give(SAMPLES, "1h", {**unset, asked("per_device", devices="0")[0]: []})
