"""The compose file: against the published schema, what it is made from, and what is not carried over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
import yaml
from fakes.compose import TOP, rendered, services

from deploy.commands.render import render
from serving.errors import UsageError

SCHEMA = TOP / "tests/golden/schemas/compose-spec.json"


def specification() -> jsonschema.Draft201909Validator:
    """The published schema; the draft is named, since the file's own name of it ends in a stray `#`."""
    return jsonschema.Draft201909Validator(json.loads(SCHEMA.read_text()))


def test_what_is_in_the_repository_is_what_the_shipped_deployment_renders_to(
    shipped: Mapping[str, str],
) -> None:
    for path, text in shipped.items():
        assert (TOP / path).read_text() == text, f"{path} is stale: run `make compose`"


@pytest.mark.slow
def test_it_meets_the_published_schema(shipped: Mapping[str, str]) -> None:
    specification().validate(yaml.safe_load(shipped["docker-compose.yml"]))


@pytest.mark.slow
def test_the_schema_would_notice_a_wrong_key(shipped: Mapping[str, str]) -> None:
    document = yaml.safe_load(shipped["docker-compose.yml"])
    document["services"]["gateway"]["helthcheck"] = {}
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        specification().validate(document)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="no docker-compose on this machine")
def test_docker_compose_itself_reads_it() -> None:
    command = ["docker-compose", "-f", "docker-compose.yml", "config", "-q"]
    with_password = {**os.environ, "GRAFANA_ADMIN_PASSWORD": "x"}
    done = subprocess.run(command, cwd=TOP, env=with_password, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    without = {k: v for k, v in os.environ.items() if k != "GRAFANA_ADMIN_PASSWORD"}
    done = subprocess.run(command, cwd=TOP, env=without, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "set it in .env" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "modes: [{kind: disaggregated, prefill: 1, decode: 1, connector: {kind: nixl}}]",
            "disaggregated is not",
        ),
        ("modes: [{kind: speculative, method: suffix, tokens: 4}]", "arctic"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        rendered(tmp_path, f"name: d\nmodel: a/b\n{text}\n")
    assert "d.yaml:3" in str(caught.value)


@pytest.mark.slow
def test_what_needs_a_gpu_has_no_cpu_profile_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nmodes: [{kind: quantized_kv, format: int4_per_token_head}]\n")
    found = render("compose", str(file))
    assert "engine-0" in services(found.files)
    assert "engine-0-cpu" not in services(found.files)
    assert any("no profile cpu" in note and "int4_per_token_head" in note for note in found.notes)


@pytest.mark.slow
def test_a_deployment_for_cpu_has_engines_for_cpu_only_and_the_gateway_finds_them(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nengine: {device: cpu, cores: 4, kv_cache_memory: 2GiB}\n")
    found = render("compose", str(file))
    assert "engine-0" not in services(found.files)
    assert services(found.files)["engine-0-cpu"]["cpus"] == 4
    gateway = yaml.safe_load(found.files["deploy/compose/gateway.yaml"])
    assert gateway["revisions"][0]["urls"] == ["http://engine-0:8000/v1"]
    assert "no profile gpu, for engine.device is cpu" in found.notes


@pytest.mark.parametrize(
    ("mode", "words"),
    [("hosts: [10.0.0.1, 10.0.0.2]", "several machines"), ("executor: ray", "needs a Ray cluster")],
)
def test_an_engine_of_several_machines_is_refused(tmp_path: Path, mode: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        rendered(tmp_path, f"name: d\nmodel: a/b\nmodes: [{{kind: parallel, tensor: 2, {mode}}}]\n")


def test_sections_and_versions_that_it_does_not_read_are_told(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nengine: {version: 0.32.0}\nprometheus: {port: 9999}\n")
    notes = render("compose", str(file)).notes
    assert any(note.startswith("prometheus: read by") for note in notes)
    assert any(note.startswith("engine.version 0.32.0: the image is pinned") for note in notes)


def test_a_deployment_without_engines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no engine"):
        rendered(tmp_path, "name: d\nrevisions: [{name: a, urls: ['http://127.0.0.1:9/v1']}]\n")
