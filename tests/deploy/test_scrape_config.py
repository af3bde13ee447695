"""What Prometheus is told, held against what its own documentation asks for and decision 0010 says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from deploy import scrape_config
from deploy.scrape_config import EngineTarget, Scraped, StateFiles
from serving.config.schema import PrometheusSection

FILES = StateFiles(Path("/data/state/prometheus/demo"), Path("/data/state/load"))


def config(public_url: str = "http://127.0.0.1:8000", *rules: Path) -> dict:
    text = scrape_config.config_text(Scraped("demo", public_url, 9090), FILES, rules)
    return yaml.safe_load(text)


def test_there_is_a_job_for_each_kind_of_target_with_its_file() -> None:
    jobs = {job["job_name"]: job for job in config()["scrape_configs"]}
    assert list(jobs) == ["gateway", "engine", "load", "prometheus"]
    files = {name: job["file_sd_configs"][0]["files"] for name, job in jobs.items() if name != "prometheus"}
    assert files == {
        "gateway": ["/data/state/prometheus/demo/targets/gateway.json"],
        "engine": ["/data/state/prometheus/demo/targets/engine.json"],
        "load": ["/data/state/load/*.json"],
    }
    assert jobs["prometheus"]["static_configs"] == [
        {"targets": ["127.0.0.1:9090"], "labels": {"deployment": "demo"}}
    ]


def test_it_scrapes_every_five_seconds_and_gives_up_before_the_next() -> None:
    told = config()["global"]
    assert told["scrape_interval"] == "5s"
    assert told["scrape_timeout"] == "4s"


def test_rules_are_named_by_their_whole_path() -> None:
    assert config("http://127.0.0.1:8000", Path("/rules.yaml"))["rule_files"] == ["/rules.yaml"]
    assert config()["rule_files"] == []


@pytest.mark.parametrize(
    ("public_url", "target", "known"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", True),
        ("http://127.0.0.1:8000", "http://localhost:8000/v1", True),
        ("http://[::1]:8000", "http://[::1]:8000", True),
        ("https://10.0.0.7:8443", "https://10.0.0.7:8443", True),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:80001", False),
        ("http://127.0.0.1:8000", "http://10.0.0.7:8000", False),
        ("http://10.0.0.7:8000", "http://10x0x0x7:8000", False),
    ],
)
def test_a_load_is_known_as_this_deployment_s_by_whom_it_is_sent_to(
    public_url: str, target: str, known: bool
) -> None:
    [rule] = next(j for j in config(public_url)["scrape_configs"] if j["job_name"] == "load")[
        "relabel_configs"
    ]
    assert (rule["source_labels"], rule["target_label"], rule["replacement"]) == (
        ["__meta_teapot_target"], "deployment", "demo",
    )  # fmt: skip
    # Prometheus anchors a regex at both ends.
    assert bool(re.fullmatch(rule["regex"], target)) is known


def test_it_is_bounded_listens_on_loopback_and_is_no_web_page_s_to_read() -> None:
    section = PrometheusSection(retention_size="500MB", retention_time="36h")
    words = scrape_config.arguments("/usr/bin/prometheus", "demo", 9091, FILES, section)
    assert words[0] == "/usr/bin/prometheus"
    assert {
        "--config.file=/data/state/prometheus/demo/prometheus.yml",
        "--storage.tsdb.path=/data/state/prometheus/demo/data",
        "--storage.tsdb.retention.size=500000000B",
        "--storage.tsdb.retention.time=129600s",
        "--web.listen-address=127.0.0.1:9091",
    } <= set(words)
    [origin] = [word.partition("=")[2] for word in words if word.startswith("--web.cors.origin=")]
    assert re.fullmatch(origin, "http://localhost:3000")
    assert not re.fullmatch(origin, "https://example.com")
    assert not any("lifecycle" in word or "admin" in word for word in words)


def test_the_gateway_s_target_is_its_admin_address_and_its_series_say_the_rest() -> None:
    assert json.loads(scrape_config.gateway_groups("demo", "http://[::1]:8001")) == [
        {"targets": ["[::1]:8001"], "labels": {"deployment": "demo"}}
    ]


def test_engines_are_labelled_as_the_gateway_knows_them_in_an_order_of_their_own() -> None:
    one = EngineTarget("http://127.0.0.1:4001", "main", "prefill")
    two = EngineTarget("http://127.0.0.1:4000", "next", "decode")
    text = scrape_config.engine_groups("demo", [one, two])
    assert text == scrape_config.engine_groups("demo", [two, one])
    assert json.loads(text)[1] == {
        "targets": ["127.0.0.1:4001"],
        "labels": {
            "deployment": "demo", "revision": "main", "role": "prefill", "instance": "http://127.0.0.1:4001",
        },
    }  # fmt: skip


def test_ten_ports_are_tried_and_none_that_does_not_exist() -> None:
    assert list(scrape_config.ports_to_try(9090)) == [
        9090, 9091, 9092, 9093, 9094, 9095, 9096, 9097, 9098, 9099,
    ]  # fmt: skip
    assert list(scrape_config.ports_to_try(65534)) == [65534, 65535]
