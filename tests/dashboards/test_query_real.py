"""The client against a real Prometheus that scrapes itself, where the program is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboards.query import Prometheus, QueryRefused
from serving.errors import Failed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="the program prometheus is not installed"),
]
CONFIG = """
global: {{scrape_interval: 200ms}}
scrape_configs:
  - job_name: prometheus
    static_configs: [{{targets: ['{address}'], labels: {{deployment: itself}}}}]
"""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "prometheus.yml").write_text(CONFIG.format(address=address))
    words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["prometheus", *words, f"--web.listen-address={address}"], stdout=log, stderr=log
        )
        try:
            asked = Prometheus(f"http://{address}")
            _wait_for(asked, folder / "log")
            yield asked
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(asked: Prometheus, log: Path) -> None:
    for _ in range(300):
        try:
            if len(asked.query("count_over_time(up[1m]) > 3")) == 1:
                return
        except Failed:
            pass
        time.sleep(0.1)
    pytest.fail(f"it did not scrape itself:\n{log.read_text()}")


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
