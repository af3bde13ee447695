"""Our gateway on a cluster: its file, its keys, its probes, how it ends."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from fakes.clusters import TOP, documents, find, rendered

from deploy.render.edge import REPLICAS, USER, VERSION
from deploy.render.target import Choices
from serving.config.load import load_deployment
from serving.config.schema import Deployment

TEXT = """\
name: d
model: a/b
replicas: 2
gateway:
  host: 10.0.0.9
  port: 9000
  keys_file: mine.yaml
  drain_timeout: 100s
  max_body: 4MiB
  aliases: {gpt: a/b}
  routing: {policy: prefix_affinity}
  timeouts: {between_tokens: 20s}
slo: {ttft: 500ms, target: 0.97}
"""


def serving(tmp_path: Path, text: str = TEXT) -> str:
    return rendered(tmp_path, "kubernetes", text)["kubernetes/serving.yaml"]


def pod(text: str) -> dict[str, Any]:
    found: dict[str, Any] = find(text, "Deployment", "d-gateway")["spec"]["template"]["spec"]
    return found


def gateways_file(tmp_path: Path, text: str) -> Deployment:
    file = tmp_path / "gateway.yaml"
    file.write_text(find(text, "ConfigMap", "d-gateway")["data"]["gateway.yaml"])
    return load_deployment(file)[0]


@pytest.mark.slow
def test_its_file_is_a_deployment_of_ours_that_says_what_the_whole_one_says(tmp_path: Path) -> None:
    served = gateways_file(tmp_path, serving(tmp_path))
    source, _ = load_deployment(tmp_path / "d.yaml")
    assert served.slo == source.slo
    for key in ("drain_timeout", "max_body", "aliases", "routing", "timeouts"):
        assert getattr(served.gateway, key) == getattr(source.gateway, key), key
    assert (served.gateway.host, served.gateway.port) == ("0.0.0.0", 8000)
    assert served.gateway.admin_host == "127.0.0.1"
    [revision] = served.revisions
    assert revision.health == "/health"


@pytest.mark.slow
def test_every_pod_reaches_it_so_it_wants_keys_unless_the_file_says_that_none_are_meant(
    tmp_path: Path,
) -> None:
    for text in (TEXT, "name: d\nmodel: a/b\n"):
        found = serving(tmp_path, text)
        [path] = [m["mountPath"] for m in pod(found)["containers"][0]["volumeMounts"] if m["name"] == "keys"]
        assert gateways_file(tmp_path, found).gateway.keys_file == f"{path}/keys.yaml"
        assert {"name": "keys", "secret": {"secretName": "d-keys", "defaultMode": 0o440}} in pod(found)[
            "volumes"
        ]
        assert "# The gateway wants keys" in found
    found = serving(tmp_path, "name: d\nmodel: a/b\ngateway: {allow_anonymous: true}\n")
    assert gateways_file(tmp_path, found).gateway.allow_anonymous
    assert "keys" not in {volume["name"] for volume in pod(found)["volumes"]}


@pytest.mark.slow
def test_probes_ask_what_the_gateway_answers_while_it_drains(tmp_path: Path) -> None:
    gateway = pod(serving(tmp_path))["containers"][0]
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert gateway["readinessProbe"]["failureThreshold"] == 1
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/health/live"


@pytest.mark.slow
def test_it_says_not_ready_for_longer_than_a_probe_takes_and_is_killed_only_after_its_drain(
    tmp_path: Path,
) -> None:
    found = serving(tmp_path)
    grace = gateways_file(tmp_path, found).gateway.grace
    ready = pod(found)["containers"][0]["readinessProbe"]
    assert grace > 2 * ready["periodSeconds"]
    assert pod(found)["terminationGracePeriodSeconds"] > grace + 100
    own = serving(tmp_path, "name: d\nmodel: a/b\ngateway: {grace: 45s}\n")
    assert gateways_file(tmp_path, own).gateway.grace == 45


@pytest.mark.slow
def test_a_changed_file_restarts_the_gateways(tmp_path: Path) -> None:
    digests = {
        find(serving(tmp_path, text), "Deployment", "d-gateway")["spec"]["template"]["metadata"][
            "annotations"
        ]["teapot/config"]
        for text in (TEXT, TEXT.replace("4MiB", "5MiB"))
    }
    assert len(digests) == 2


@pytest.mark.slow
def test_a_node_can_be_drained_without_an_outage_and_what_that_costs_is_said(tmp_path: Path) -> None:
    found = serving(tmp_path)
    assert find(found, "Deployment", "d-gateway")["spec"]["replicas"] == REPLICAS == 2
    assert find(found, "PodDisruptionBudget", "d-gateway")["spec"]["maxUnavailable"] == 1
    assert "in 2 times as" in found


@pytest.mark.slow
def test_it_is_not_root_and_kubernetes_can_tell(tmp_path: Path) -> None:
    for container in pod(serving(tmp_path))["containers"]:
        assert container["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
    for image in ("gateway", "loadgen"):
        assert f"--uid {USER} " in (TOP / f"deploy/images/{image}.Dockerfile").read_text()


@pytest.mark.slow
def test_images_have_the_projects_version_and_a_registry_if_one_was_given(tmp_path: Path) -> None:
    assert tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"] == VERSION
    text = rendered(tmp_path, "kubernetes", TEXT, Choices(image_prefix="r.example/t/"))[
        "kubernetes/serving.yaml"
    ]
    assert pod(text)["containers"][0]["image"] == f"r.example/t/teapot-gateway:{VERSION}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("tls: {cert: c.pem, key: k.pem}", "gateway.tls: end TLS"),
        ("tracing: {endpoint: 'http://c:4318'}", "gateway.tracing: the image"),
    ],
)
def test_what_the_gateway_cannot_have_there_is_left_out_and_said(
    tmp_path: Path, section: str, words: str
) -> None:
    found = serving(tmp_path, f"name: d\nmodel: a/b\ngateway:\n  {section}\n")
    assert words in found
    gateways = gateways_file(tmp_path, found).gateway
    assert (gateways.tls, gateways.tracing) == (None, None)


def test_in_front_of_a_platform_it_asks_that_platforms_router(tmp_path: Path) -> None:
    choices = Choices(gateway="edge", platform_url="http://inner/ns/d/v1")
    text = rendered(tmp_path, "kserve", "name: d\nmodel: a/b\n", choices)["kserve/gateway.yaml"]
    [revision] = gateways_file(tmp_path, text).revisions
    assert revision.urls == ("http://inner/ns/d/v1",)
    assert revision.health is None, "only /v1 is known of a router"
    assert {d["kind"] for d in documents(text)} == {
        "ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy",
    }  # fmt: skip
