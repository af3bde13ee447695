"""Series come into being when they are counted in, with the labels of the table, and are found again."""

from __future__ import annotations

import pytest
from fakes.samples import total
from prometheus_client import CollectorRegistry

from serving.facts.load import own_metrics
from serving.gateway.series import OFTEN_COUNTED, OFTEN_TIMED, Alike, Families, Series
from serving.gateway.tallies import Counts, Timings

ALIKE = Alike("/v1/completions", "ok", "200", "true", "main", "any", "http://e", "client")
WHERE = {"revision": "main", "role": "any", "backend": "http://e"}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def series(registry: CollectorRegistry) -> Series:
    rows = own_metrics()
    counts = {key: Counts(rows[key]) for key in OFTEN_COUNTED}
    timings = {key: Timings(rows[key], (1.0, 10.0)) for key in OFTEN_TIMED}
    for collector in (*counts.values(), *timings.values()):
        registry.register(collector)
    return Series(Families(counts, timings), ALIKE)


def test_nothing_is_there_before_it_is_counted(series: Series, registry: CollectorRegistry) -> None:
    assert [sample for family in registry.collect() for sample in family.samples] == []
    series.requests.inc()
    names = {sample.name for family in registry.collect() for sample in family.samples}
    assert names == {"teapot_gateway_requests_total"}


@pytest.mark.parametrize(
    ("name", "sample", "labels"),
    [
        ("requests", "requests_total", {"path": "/v1/completions", "outcome": "ok", "code": "200", **WHERE}),
        ("prompt_tokens", "prompt_tokens_total", WHERE),
        ("output_tokens", "output_tokens_total", WHERE),
        ("reused", "backend_connections_total", {**WHERE, "connection": "reused"}),
        ("connected", "backend_connections_total", {**WHERE, "connection": "new"}),
    ],
)
def test_a_counter_has_its_labels(
    series: Series, registry: CollectorRegistry, name: str, sample: str, labels: dict[str, str]
) -> None:
    getattr(series, name).inc(3)
    getattr(series, name).inc(4)
    assert total(registry, f"teapot_gateway_{sample}", **labels) == 7


@pytest.mark.parametrize(
    ("name", "sample", "labels"),
    [
        ("duration", "request_duration", {"outcome": "ok", "streamed": "true", **WHERE}),
        ("queue", "queue_time", {}),
        ("first_byte", "time_to_first_byte", {"streamed": "true", "traffic": "client", **WHERE}),
        ("tpot", "time_per_output_token", WHERE),
    ],
)
def test_a_histogram_has_its_labels(
    series: Series, registry: CollectorRegistry, name: str, sample: str, labels: dict[str, str]
) -> None:
    getattr(series, name).observe(3)
    found = total(registry, f"teapot_gateway_{sample}_seconds_sum", path="/v1/completions", **labels)
    assert found == 3
