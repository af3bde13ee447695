"""The client against a real Prometheus that scrapes itself, where the program is installed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fakes.running_prometheus import needs_prometheus, running_prometheus

from dashboards.query import Prometheus, QueryRefused

pytestmark = [pytest.mark.slow, needs_prometheus]
CONFIG = """
global: {scrape_interval: 200ms}
scrape_configs:
  - job_name: prometheus
    static_configs: [{targets: ['{address}'], labels: {deployment: itself}}]
"""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), CONFIG) as running:
        asked = Prometheus(running.url)
        until = time.monotonic() + 30
        while len(asked.query("count_over_time(up[1m]) > 3")) != 1:
            assert time.monotonic() < until, running.log.read_text()
            time.sleep(0.1)
        yield asked


def test_it_is_up_and_says_so(prometheus: Prometheus) -> None:
    (sample,) = prometheus.query("up")
    assert (sample.value, sample.labels["deployment"]) == (1.0, "itself")
    assert abs(sample.at_s - time.time()) < 60


def test_a_range_has_a_point_for_every_step_since_it_began(prometheus: Prometheus) -> None:
    now = time.time()
    (series,) = prometheus.query_range("up", start_s=now - 30, end_s=now, step_s=0.5)
    assert len(series.points) >= 1
    assert {point.value for point in series.points} == {1.0}


def test_its_targets_tell_how_often_they_are_scraped(prometheus: Prometheus) -> None:
    (target,) = prometheus.targets()
    assert (target.job, target.up, target.error, target.scrape_interval_s) == ("prometheus", True, None, 0.2)


def test_metadata_and_label_values_are_of_what_it_scraped(prometheus: Prometheus) -> None:
    assert prometheus.metadata()["prometheus_build_info"].kind == "gauge"
    now = time.time()
    assert prometheus.label_values("deployment", "up", start_s=now - 60, end_s=now) == ("itself",)


@pytest.mark.parametrize(
    "expression", ["up{", "up * on () group_left () prometheus_build_info{a='b'} or up[1m]", "up[1m]"]
)
def test_what_it_refuses_is_the_expressions_fault(prometheus: Prometheus, expression: str) -> None:
    with pytest.raises(QueryRefused, match="cannot evaluate"):
        prometheus.query(expression)


def test_nothing_by_nothing_is_none(prometheus: Prometheus) -> None:
    assert [sample.value for sample in prometheus.query("0 * up / 0")] == [None]
