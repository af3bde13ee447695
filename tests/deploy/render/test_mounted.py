"""The files that containers are given."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from fakes.compose import SHIPPED, TOP, rendered, services
from fakes.promtool import PROMTOOL, needs_promtool

from deploy.commands.render import render
from deploy.render.places import FOLDER
from serving.config.load import load_deployment


@pytest.mark.slow
def test_the_gateways_file_is_a_deployment_of_ours_with_the_same_objectives(
    shipped: Mapping[str, str],
) -> None:
    served, _ = load_deployment(TOP / FOLDER / "gateway.yaml")
    source, _ = load_deployment(TOP / SHIPPED)
    assert served.slo == source.slo
    assert served.name == source.name
    [revision] = served.revisions
    assert revision.urls == ("http://engine-0:8000/v1",)
    aliases = services(shipped)["engine-0"]["networks"]["engines"]["aliases"]
    assert aliases == services(shipped)["engine-0-cpu"]["networks"]["engines"]["aliases"] == ["engine-0"]


def test_objectives_are_carried_over_to_the_last_digit(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\nslo: {ttft: 12345678ms, tpot: 0.00001s, e2e: 1h}\n"
    served = tmp_path / "gateway.yaml"
    served.write_text(rendered(tmp_path, text)[f"{FOLDER}/gateway.yaml"])
    slo = load_deployment(served)[0].slo
    assert (slo.ttft, slo.tpot, slo.e2e) == (12345.678, 0.00001, 3600)


def test_prometheus_is_told_the_labels_that_the_boards_ask_for(shipped: Mapping[str, str]) -> None:
    jobs = {j["job_name"]: j for j in yaml.safe_load(shipped[f"{FOLDER}/prometheus.yml"])["scrape_configs"]}
    assert set(jobs) == {"gateway", "engine", "load", "dcgm", "prometheus"}
    assert jobs["engine"]["static_configs"] == [
        {
            "targets": ["engine-0:8000"],
            "labels": {
                "deployment": "compose", "revision": "main", "role": "any", "instance": "http://engine-0:8000",
            },
        }
    ]  # fmt: skip
    assert jobs["gateway"]["static_configs"][0]["labels"] == {"deployment": "compose"}


@needs_promtool
def test_promtool_reads_the_configuration() -> None:
    config = str(TOP / FOLDER / "prometheus.yml")
    subprocess.run([str(PROMTOOL), "check", "config", "--syntax-only", config], check=True, timeout=60)


def test_keys_are_mounted_and_nobody_is_let_in_without(tmp_path: Path) -> None:
    files = rendered(tmp_path, "name: d\nmodel: a/b\ngateway: {keys_file: mine.yaml}\n")
    gateway = yaml.safe_load(files[f"{FOLDER}/gateway.yaml"])["gateway"]
    assert gateway["keys_file"] == "keys.yaml"
    assert "allow_anonymous" not in gateway
    assert f"./{FOLDER}/keys.yaml:/etc/teapot/keys.yaml:ro" in services(files)["gateway"]["volumes"]


def test_what_the_file_says_of_its_gateway_is_carried_over_and_what_cannot_be_is_said(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text(
        "name: d\nmodel: a/b\ngateway:\n  port: 9000\n  max_body: 4MiB\n  drain_timeout: 100s\n"
        "  routing: {policy: prefix_affinity}\n  tls: {cert: c.pem, key: k.pem}\n"
    )
    found = render("compose", str(file))
    served = tmp_path / "gateway.yaml"
    served.write_text(found.files[f"{FOLDER}/gateway.yaml"])
    gateway = load_deployment(served)[0].gateway
    assert (gateway.port, gateway.max_body, gateway.drain_timeout) == (8000, 4 * 1024**2, 100)
    assert gateway.routing.policy == "prefix_affinity"
    assert gateway.tls is None
    assert any(note.startswith("gateway.tls") for note in found.notes)
