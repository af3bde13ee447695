"""The files that containers are given."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml
from fakes.compose import SHIPPED, TOP, rendered, services
from fakes.promtool import PROMTOOL, needs_promtool

from deploy.render.places import FOLDER
from serving.config.load import load_deployment


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
