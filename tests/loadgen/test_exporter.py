"""The page is read with Prometheus' own parser; what it must hold is counted by hand."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from loadgen.exporter import LoadCollector, exported
from loadgen.live import Live, Tally
from loadgen.records import RequestRecord
from loadgen.stats.plan import Slo
from serving.errors import UsageError

MS = 1_000_000


def live(slo: Slo = Slo(ttft_s=0.1)) -> Live:  # noqa: B008 - frozen
    made = Live(sent=5, in_flight=2)
    for number, ttft_ms in enumerate((40, 60, 400)):
        output = (ttft_ms * MS, (ttft_ms + 20) * MS)
        record = RequestRecord(0, "measure", "any", "ok", -MS, 0, 9, output_ns=output, output_tokens=3)
        made.add(("any", number % 2), Tally.of(record, slo))
    return made


def page(now: Live) -> dict[tuple[str, str, str], float]:
    """Values by name, stage and the bucket or outcome."""
    with exported(LoadCollector(lambda: now, run="r1", workload="chat"), 0) as port:
        text = urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert (sample.labels["run"], sample.labels["workload"]) == ("r1", "chat")
            more = sample.labels.get("le") or sample.labels.get("outcome") or ""
            found[sample.name, sample.labels["stage"], more] = sample.value
    return found


@pytest.mark.slow
def test_histograms_are_by_stage_with_exact_sums_and_counts() -> None:
    found = page(live())
    name = "teapot_load_ttft_seconds"
    assert found[f"{name}_count", "0", ""] == 2
    assert found[f"{name}_sum", "0", ""] == pytest.approx(0.44)
    assert [found[f"{name}_bucket", "0", le] for le in ("0.02", "0.05", "0.5", "+Inf")] == [0, 1, 2, 2]
    assert found[f"{name}_count", "1", ""] == 1


@pytest.mark.slow
def test_counts_are_by_outcome_and_the_run_s_gauges_are_of_all_stages() -> None:
    found = page(live())
    assert found["teapot_load_requests_total", "0", "ok"] == 2
    assert found["teapot_load_requests_total", "0", "failed"] == 0
    assert found["teapot_load_good_requests_total", "0", ""] == 1
    assert found["teapot_load_goodput_ratio", "0", ""] == 0.5
    assert found["teapot_load_requests_sent_total", "all", ""] == 5
    assert found["teapot_load_in_flight", "all", ""] == 2


@pytest.mark.slow
def test_before_anything_has_ended_there_is_no_latency_and_no_goodput() -> None:
    names = {name for name, _, _ in page(Live())}
    assert "teapot_load_in_flight" in names
    assert not any("ttft" in name or "goodput" in name for name in names)


@pytest.mark.slow
def test_without_objectives_there_is_no_goodput() -> None:
    names = {name for name, _, _ in page(live(Slo()))}
    assert "teapot_load_requests_total" in names
    assert not any("good" in name for name in names)


def test_a_port_that_is_taken_is_an_error_or_done_without() -> None:
    collector = LoadCollector(Live, run="r", workload="w")
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=str(port)), exported(collector, port):
            pass
        with exported(collector, port, unless_taken=said.append) as opened:
            assert opened is None
    assert str(port) in said[0]


def test_a_port_that_is_none_is_an_error() -> None:
    collector = LoadCollector(Live, run="r", workload="w")
    with pytest.raises(UsageError, match="--exporter-port"), exported(collector, 99999):
        pass


def test_no_port_is_no_page() -> None:
    with exported(LoadCollector(Live, run="r", workload="w"), None) as port:
        assert port is None
