"""The load generator on a cluster: what locust is given, who may join, what ends with the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.clusters import TOP, find, flag, rendered

from deploy.render.cluster_load import JOIN_PORT
from deploy.render.places import EXPORTER_PORT

TEXT = "name: d\nmodel: a/b\nreplicas: 2\n"


def load(tmp_path: Path) -> str:
    return rendered(tmp_path, "kubernetes", TEXT)["kubernetes/load/load.yaml"]


def container(text: str, job: str) -> dict[str, Any]:
    [found] = find(text, "Job", job)["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.slow
def test_the_leading_process_waits_for_all_workers_and_loads_the_gateway(tmp_path: Path) -> None:
    text = load(tmp_path)
    args = container(text, "d-load")["args"]
    workers = find(text, "Job", "d-load-worker")["spec"]
    assert int(flag(args, "--expect-workers")) == workers["parallelism"] == workers["completions"] == 2
    assert flag(args, "-H") == "http://d-gateway:8000"
    assert [args[n + 1] for n, word in enumerate(args) if word == "--metrics"] == [
        "http://d-engine-0.d-engine:8000/metrics", "http://d-engine-1.d-engine:8000/metrics",
    ]  # fmt: skip


@pytest.mark.slow
def test_workers_join_by_the_service_of_the_leading_process(tmp_path: Path) -> None:
    text = load(tmp_path)
    args = container(text, "d-load-worker")["args"]
    service = find(text, "Service", flag(args, "--master-host"))
    [port] = service["spec"]["ports"]
    assert port["port"] == int(flag(args, "--master-port")) == JOIN_PORT
    leader = find(text, "Job", "d-load")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= leader.items()


@pytest.mark.slow
def test_nobody_but_workers_may_join_for_locust_asks_for_no_key(tmp_path: Path) -> None:
    text = load(tmp_path)
    joining = [
        rule
        for rule in find(text, "NetworkPolicy", "d-load")["spec"]["ingress"]
        if rule["ports"][0]["port"] == JOIN_PORT
    ]
    labels = find(text, "Job", "d-load-worker")["spec"]["template"]["metadata"]["labels"]
    assert [rule["from"] for rule in joining] == [[{"podSelector": {"matchLabels": labels}}]]


@pytest.mark.slow
def test_its_web_page_is_off_and_its_metrics_leave_by_the_relay(tmp_path: Path) -> None:
    text = load(tmp_path)
    args = container(text, "d-load")["args"]
    assert "--headless" in args
    assert flag(args, "--exporter-port") == str(EXPORTER_PORT)
    assert f"http://127.0.0.1:{EXPORTER_PORT}" in find(text, "ConfigMap", "d-load")["data"]["relay.conf"]


@pytest.mark.slow
def test_the_job_ends_with_the_run_and_is_not_sent_twice(tmp_path: Path) -> None:
    spec = find(load(tmp_path), "Job", "d-load")["spec"]
    assert spec["backoffLimit"] == 0
    [relay] = spec["template"]["spec"]["initContainers"]
    assert relay["restartPolicy"] == "Always", "a container beside it would keep the pod alive"


@pytest.mark.slow
def test_what_is_said_to_be_applied_and_mounted_is_there(tmp_path: Path) -> None:
    text = load(tmp_path)
    assert (TOP / "deploy/workloads/chat.yaml").is_file()
    volumes = find(text, "Job", "d-load")["spec"]["template"]["spec"]["volumes"]
    assert {"name": "workload", "configMap": {"name": "d-workload"}} in volumes
    assert "kubectl create configmap d-workload --from-file=workload.yaml=" in text
    assert "secret generic d-load-key" in text
