from __future__ import annotations

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.scrape import Scraper, metrics_address, read_once
from loadgen.server_metrics import ServerSample
from serving.errors import UsageError


def test_a_metrics_url_may_leave_out_its_path() -> None:
    assert metrics_address("http://h:1") == ("http://h:1", "/metrics")
    assert metrics_address("http://h:1/a/metrics") == ("http://h:1", "/a/metrics")


@pytest.mark.parametrize("url", ["h:1/metrics", "nonsense", "http://[::1", "http://h:99999"])
def test_a_metrics_url_that_is_no_address_is_refused_by_its_own_option(url: str) -> None:
    with pytest.raises(UsageError, match="--metrics"):
        metrics_address(url)


def test_an_edge_has_the_series_and_the_cache_configuration(engine: ScriptedEngine) -> None:
    sample = read_once(f"{engine.url}/metrics", t_ns=5, edge=True)
    assert sample.error is None
    assert sample.series["vllm:num_requests_running"] == 0
    assert sample.cache_config["block_size"] == "16"
    assert (sample.t_ns, sample.edge) == (5, True)


def test_a_server_that_does_not_answer_gives_an_error_and_no_numbers(engine: ScriptedEngine) -> None:
    wrong_path = read_once(f"{engine.url}/no-metrics", t_ns=0, edge=False)
    assert (wrong_path.error, wrong_path.series) == ("HTTP 404", {})
    nobody = read_once("http://127.0.0.1:1/metrics", t_ns=0, edge=False)
    assert "refused" in str(nobody.error)


def test_the_scraper_reads_every_url_at_an_edge_and_stops(engine: ScriptedEngine) -> None:
    samples: list[ServerSample] = []
    scraper = Scraper([f"{engine.url}/metrics", engine.url], origin_ns=0, sink=samples.append)
    scraper.start()
    scraper.edge()
    scraper.stop()
    assert [sample.url for sample in samples if sample.edge] == [f"{engine.url}/metrics", engine.url]
