"""Scraping gives the labels of decision 0010; rules and boards are found by whom they are for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.clusters import documents, find, rendered
from fakes.promtool import PROMTOOL, needs_promtool

TEXT = "name: d\nmodel: a/b\nreplicas: 2\n"


def labels(monitor: dict[str, Any]) -> dict[str, str]:
    spec = monitor["spec"]
    [endpoint] = spec.get("endpoints") or spec["podMetricsEndpoints"]
    return {rule["targetLabel"]: rule["replacement"] for rule in endpoint["relabelings"]}


def test_engines_have_the_labels_that_the_boards_ask_for_and_the_name_that_the_gateway_calls_them(
    tmp_path: Path,
) -> None:
    files = rendered(tmp_path, "kubernetes", TEXT)
    monitor = find(files["kubernetes/monitoring.yaml"], "ServiceMonitor", "d-engine")
    found = labels(monitor)
    assert {key: found[key] for key in ("job", "deployment", "revision", "role")} == {
        "job": "engine", "deployment": "d", "revision": "main", "role": "any",
    }  # fmt: skip
    served = yaml.safe_load(
        find(files["kubernetes/serving.yaml"], "ConfigMap", "d-gateway")["data"]["gateway.yaml"]
    )
    called = {url.removesuffix("/v1") for url in served["revisions"][0]["urls"]}
    assert {found["instance"].replace("$1", f"d-engine-{n}") for n in (0, 1)} == called


def test_the_gateways_own_series_carry_the_revision_so_its_target_has_none(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", TEXT)["kubernetes/monitoring.yaml"]
    assert labels(find(text, "ServiceMonitor", "d-gateway")) == {"job": "gateway", "deployment": "d"}
    assert labels(find(text, "PodMonitor", "d-load")) == {"job": "load", "deployment": "d"}


def test_each_monitor_finds_a_port_of_that_name(tmp_path: Path) -> None:
    files = rendered(tmp_path, "kubernetes", TEXT)
    services = [d for d in documents(files["kubernetes/serving.yaml"]) if d["kind"] == "Service"]
    for name in ("d-engine", "d-gateway"):
        spec = find(files["kubernetes/monitoring.yaml"], "ServiceMonitor", name)["spec"]
        wanted = spec["selector"]["matchLabels"].items()
        [service] = [each for each in services if wanted <= each["metadata"]["labels"].items()]
        assert spec["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_grafanas_sidecar_finds_every_board(tmp_path: Path) -> None:
    for board in documents(rendered(tmp_path, "kubernetes", TEXT)["kubernetes/dashboards.yaml"]):
        assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
        [text] = board["data"].values()
        assert json.loads(text)["uid"] == board["metadata"]["name"]
        assert len(text) < 1_000_000, "etcd takes no more"


@pytest.mark.slow
@needs_promtool
def test_promtool_reads_the_rules_as_the_operator_hands_them_on(tmp_path: Path) -> None:
    [rule] = documents(rendered(tmp_path, "kubernetes", TEXT)["kubernetes/rules.yaml"])
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]))
    subprocess.run([str(PROMTOOL), "check", "rules", str(path)], check=True, timeout=60, capture_output=True)
