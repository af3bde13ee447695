"""The files of a cluster: what was looked at, the published schemas, and the parts that hang together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fakes.clusters import GOLDEN, NOT_KEPT, TOP, custom_resource, documents, find, golden, rendered

from deploy.render.target import Choices

KUBERNETES = "1.34"
"""Whose schemas the core kinds are held against."""
CUSTOM = {
    "LeaderWorkerSet": ("leaderworkerset.crd.yaml", "v1"),
    "LLMInferenceService": ("kserve-llminferenceservice.minimal.crd.yaml", "v1alpha2"),
}
OPERATORS = "monitoring.coreos.com/"
PLAIN = "name: d\nmodel: a/b\nreplicas: 2\n"


def kept() -> list[tuple[str, str]]:
    """Every golden file with what is rendered now."""
    return [item for target, source, choices in GOLDEN for item in golden(target, source, choices).items()]


def objects() -> list[dict[str, Any]]:
    """All Kubernetes objects among them."""
    texts = (text for path, text in kept() if not path.endswith(("values.yaml", "serve.yaml")))
    return [document for text in texts for document in documents(text)]


def test_what_is_rendered_is_what_was_looked_at() -> None:
    for path, text in kept():
        file = TOP / path
        assert file.is_file(), f"{path} is new; look at it, then: cd tests && python -m fakes.clusters"
        assert file.read_text() == text, (
            f"{path} changed; look at it, then: cd tests && python -m fakes.clusters"
        )


@pytest.mark.slow
def test_core_kinds_meet_the_schemas_of_kubernetes_with_no_unknown_key() -> None:
    for found in objects():
        if found["kind"] not in CUSTOM and not found["apiVersion"].startswith(OPERATORS):
            kubernetes_validate.validate(found, KUBERNETES, strict=True)


@pytest.mark.slow
def test_custom_kinds_meet_their_published_schemas_and_lose_no_key() -> None:
    seen = set()
    for found in objects():
        if found["kind"] in CUSTOM:
            custom_resource(*CUSTOM[found["kind"]]).validate(found)
            seen.add(found["kind"])
    assert seen == set(CUSTOM)


@pytest.mark.slow
def test_the_schemas_would_notice_a_wrong_key() -> None:
    for found in objects():
        if found["kind"] == "StatefulSet":
            found["spec"]["template"]["spec"]["containers"][0]["startupProb"] = {}
            with pytest.raises(kubernetes_validate.ValidationError, match="startupProb"):
                kubernetes_validate.validate(found, KUBERNETES, strict=True)
        if found["kind"] in CUSTOM:
            template = (
                found["spec"].get("template")
                or found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
            )
            template["containers"][0]["imagine"] = "x"
            [error] = custom_resource(*CUSTOM[found["kind"]]).iter_errors(found)
            assert "imagine" in error.message


@pytest.mark.slow
def test_every_selector_finds_the_pods_that_it_is_for() -> None:
    for target, source, choices in GOLDEN[:2]:
        found = [d for text in golden(target, source, choices).values() for d in documents(text)]
        pods = [labels for document in found for labels in pod_labels(document)]
        for document in found:
            wanted = (
                document["spec"].get("selector", {}) if document["kind"] == "Service" else selected(document)
            )
            if wanted:
                assert any(wanted.items() <= labels.items() for labels in pods), document["metadata"]["name"]


def pod_labels(document: dict[str, Any]) -> list[dict[str, str]]:
    spec = document.get("spec", {})
    templates = [spec["template"]] if "template" in spec else []
    group = spec.get("leaderWorkerTemplate", {})
    templates += [group[key] for key in ("leaderTemplate", "workerTemplate") if key in group]
    services = [document["metadata"]] if document["kind"] == "Service" else []
    return [template["metadata"]["labels"] for template in templates] + [each["labels"] for each in services]


def selected(document: dict[str, Any]) -> dict[str, str]:
    spec = document.get("spec", {})
    chosen = spec.get("selector") or spec.get("podSelector") or {}
    labels: dict[str, str] = chosen.get("matchLabels", {}) if isinstance(chosen, dict) else {}
    return labels


@pytest.mark.slow
def test_without_a_gateway_there_is_one_address_for_all_engines_and_it_is_said_what_is_lost(
    tmp_path: Path,
) -> None:
    files = rendered(tmp_path, "kubernetes", PLAIN, Choices(gateway="none"))
    text = files["kubernetes/serving.yaml"]
    assert find(text, "Service", "d")["spec"]["selector"]["app.kubernetes.io/name"] == "teapot-engine"
    assert not any("gateway" in document["metadata"]["name"] for document in documents(text))
    assert "# - keys, rates, queue" in text
    assert "http://d:8000" in str(find(files["kubernetes/load/load.yaml"], "Job", "d-load"))


def test_engines_have_no_keys_so_only_the_gateway_and_who_measures_reach_them(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", PLAIN)["kubernetes/serving.yaml"]
    rules = find(text, "NetworkPolicy", "d-engine")["spec"]["ingress"]
    assert all(rule.get("from") for rule in rules)
    names = {
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"]
        for rule in rules
        for peer in rule["from"]
        if "podSelector" in peer
    }
    assert names == {"teapot-gateway", "teapot-load", "teapot-engine"}


@pytest.mark.slow
def test_rules_and_boards_are_the_generated_ones(tmp_path: Path) -> None:
    files = rendered(tmp_path, "kubernetes", PLAIN)
    [rule] = documents(files["kubernetes/rules.yaml"])
    generated = [
        group
        for name in ("rules", "alerts")
        for group in yaml.safe_load((TOP / f"dashboards/generated/{name}.yaml").read_text())["groups"]
    ]
    assert rule["spec"]["groups"] == generated
    boards = documents(files["kubernetes/dashboards.yaml"])
    assert {name: text for board in boards for name, text in board["data"].items()} == {
        path.name: path.read_text() for path in (TOP / "dashboards/generated/boards").iterdir()
    }
    assert set(NOT_KEPT) == {"rules.yaml", "dashboards.yaml"}


def test_an_image_of_another_version_than_asked_for_is_said(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", f"{PLAIN}engine: {{version: 0.32.0}}\n")[
        "kubernetes/serving.yaml"
    ]
    assert "# - engine.version 0.32.0: the image is pinned to 0.33.0" in text


def test_applying_a_whole_folder_starts_no_load(tmp_path: Path) -> None:
    files = rendered(tmp_path, "kubernetes", PLAIN)
    beside = [text for path, text in files.items() if path.count("/") == 1]
    assert len(beside) == len(files) - 1
    assert not any(document["kind"] == "Job" for text in beside for document in documents(text))


def test_our_own_pods_meet_the_strictest_pod_security() -> None:
    for found in objects():
        if found["kind"] not in ("Deployment", "Job"):
            continue
        spec = found["spec"]["template"]["spec"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*spec["containers"], *spec.get("initContainers", ())]:
            context = container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_with_one_replica_it_is_said_that_nobody_answers_meanwhile(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", "name: d\nmodel: a/b\n")["kubernetes/serving.yaml"]
    assert "# - one replica: while its pod is replaced" in text
