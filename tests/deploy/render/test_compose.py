"""The compose file: against the published schema, the deployment it is made from, and what must hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from fakes.promtool import PROMTOOL, needs_promtool

from deploy.commands.render import render
from deploy.render.compose import FOLDER
from serving.config.load import load_deployment
from serving.errors import UsageError

TOP = Path(__file__).parents[3]
SHIPPED = "deploy/configs/compose.yaml"
SCHEMA = TOP / "tests/golden/schemas/compose-spec.json"
OURS = ("gateway", "prometheus", "grafana", "loadgen", "loadgen-worker")


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    monkeypatch.chdir(TOP)
    return render("compose", SHIPPED).files


def services(files: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(files["docker-compose.yml"])["services"]
    return found


def rendered(tmp_path: Path, text: str) -> Mapping[str, str]:
    file = tmp_path / "d.yaml"
    file.write_text(text)
    return render("compose", str(file)).files


def specification() -> jsonschema.Draft201909Validator:
    """The published schema; the draft is named, since the file's own name of it ends in a stray `#`."""
    return jsonschema.Draft201909Validator(json.loads(SCHEMA.read_text()))


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_what_is_in_the_repository_is_what_the_shipped_deployment_renders_to(
    shipped: Mapping[str, str],
) -> None:
    for path, text in shipped.items():
        assert (TOP / path).read_text() == text, f"{path} is stale: run `make compose`"


def test_it_meets_the_published_schema(shipped: Mapping[str, str]) -> None:
    specification().validate(yaml.safe_load(shipped["docker-compose.yml"]))


def test_the_schema_would_notice_a_wrong_key(shipped: Mapping[str, str]) -> None:
    document = yaml.safe_load(shipped["docker-compose.yml"])
    document["services"]["gateway"]["helthcheck"] = {}
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        specification().validate(document)


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


def test_only_loopback_is_published(shipped: Mapping[str, str]) -> None:
    ports = [port for service in services(shipped).values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert not any(":8001" in port for port in ports), "the admin interface has no keys"


def test_engines_are_not_published_and_pinned(shipped: Mapping[str, str]) -> None:
    for name, service in services(shipped).items():
        if name.startswith("engine-"):
            assert "ports" not in service
        assert "latest" not in service["image"]
        assert ":" in service["image"]


def test_our_own_services_are_guarded(shipped: Mapping[str, str]) -> None:
    for name in OURS:
        service = services(shipped)[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in service or service["user"] not in ("0", "root")


@pytest.mark.parametrize("image", ["gateway", "loadgen"])
def test_images_run_as_another_user_and_with_pinned_packages(image: str) -> None:
    text = (TOP / f"deploy/images/{image}.Dockerfile").read_text()
    assert "\nUSER teapot\n" in text
    assert "--constraint /src/deploy/constraints.txt" in text
    assert "\nSTOPSIGNAL SIG" in text


def test_the_password_has_no_default(shipped: Mapping[str, str]) -> None:
    password = services(shipped)["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert password.startswith("${GRAFANA_ADMIN_PASSWORD:?")
    assert "\nGRAFANA_ADMIN_PASSWORD=\n" in (TOP / ".env.example").read_text()


def test_grace_periods_are_longer_than_the_drain(tmp_path: Path) -> None:
    found = services(rendered(tmp_path, "name: d\ngateway: {drain_timeout: 100s, grace: 7s}\nmodel: a/b\n"))
    assert seconds(found["gateway"]["stop_grace_period"]) > 107
    engine = found["engine-0"]
    shutdown = int(engine["command"][engine["command"].index("--shutdown-timeout") + 1])
    assert shutdown > 100
    assert seconds(engine["stop_grace_period"]) > shutdown


def test_each_replica_has_its_own_devices(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\nreplicas: 2\nmodes: [{kind: parallel, tensor: 2}]\n"
    found = services(rendered(tmp_path, text))
    devices = [
        found[f"engine-{n}"]["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
        for n in (0, 1)
    ]
    assert devices == [["0", "1"], ["2", "3"]]
    assert "CUDA_VISIBLE_DEVICES" not in found["engine-0"]["environment"]


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


def test_mounted_files_are_in_the_repository(shipped: Mapping[str, str]) -> None:
    for service in services(shipped).values():
        for volume in service.get("volumes", []):
            source = volume.replace("${WORKLOAD:-", "").replace("}", "").split(":")[0]
            if source.startswith("./"):
                assert (TOP / source).exists(), f"{volume}: no such file"


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


def test_what_needs_a_gpu_has_no_cpu_profile_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nmodes: [{kind: quantized_kv, format: int4_per_token_head}]\n")
    found = render("compose", str(file))
    assert "engine-0" in services(found.files)
    assert "engine-0-cpu" not in services(found.files)
    assert any("no profile cpu" in note and "int4_per_token_head" in note for note in found.notes)


def test_a_deployment_without_engines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no engine"):
        rendered(tmp_path, "name: d\nrevisions: [{name: a, urls: ['http://127.0.0.1:9/v1']}]\n")


def test_keys_are_mounted_and_nobody_is_let_in_without(tmp_path: Path) -> None:
    files = rendered(tmp_path, "name: d\nmodel: a/b\ngateway: {keys_file: mine.yaml}\n")
    gateway = yaml.safe_load(files[f"{FOLDER}/gateway.yaml"])["gateway"]
    assert gateway["keys_file"] == "keys.yaml"
    assert "allow_anonymous" not in gateway
    assert f"./{FOLDER}/keys.yaml:/etc/teapot/keys.yaml:ro" in services(files)["gateway"]["volumes"]
