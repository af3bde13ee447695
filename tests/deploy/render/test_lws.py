"""One engine on several nodes: what each pod of a group is told, and how a group ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.clusters import find, flag, rendered

from deploy.render.target import NONE, Choices
from serving.errors import UsageError
from serving.facts.load_flags import engine_flags

TEXT = "name: d\nmodel: a/b\nreplicas: 2\nmodes: [{kind: parallel, tensor: 8, pipeline: 2}]\n"


def group(tmp_path: Path, text: str = TEXT, choices: Choices = NONE) -> dict[str, Any]:
    serving = rendered(tmp_path, "lws", text, choices)["lws/serving.yaml"]
    found: dict[str, Any] = find(serving, "LeaderWorkerSet", "d-engine")["spec"]
    return found


def containers(spec: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    template = spec["leaderWorkerTemplate"]
    leader, worker = (template[f"{who}Template"]["spec"]["containers"][0] for who in ("leader", "worker"))
    return leader, worker


@pytest.mark.slow
def test_a_group_has_as_many_pods_as_its_ranks_need_nodes(tmp_path: Path) -> None:
    for gpus, size in ((8, 2), (4, 4)):
        spec = group(tmp_path, choices=Choices(gpus_per_node=gpus))
        assert spec["leaderWorkerTemplate"]["size"] == size
        for container in containers(spec):
            assert container["resources"] == {"limits": {"nvidia.com/gpu": gpus}}
            assert flag(container["args"], "--nnodes") == str(size)


@pytest.mark.slow
def test_hosts_say_how_many_nodes_and_their_addresses_are_said_not_to_count(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\nmodes: [{kind: parallel, tensor: 2, hosts: [10.0.0.1, 10.0.0.2]}]\n"
    files = rendered(tmp_path, "lws", text)
    assert group(tmp_path, text)["leaderWorkerTemplate"]["size"] == 2
    assert "10.0.0.1" not in files["lws/serving.yaml"]
    assert "# - hosts, nnodes and addresses" in files["lws/serving.yaml"]


def test_the_first_pod_serves_and_the_others_join_it_by_the_variables_of_the_set(tmp_path: Path) -> None:
    leader, worker = containers(group(tmp_path))
    assert flag(leader["args"], "--node-rank") == "0"
    assert flag(worker["args"], "--node-rank") == "$(LWS_WORKER_INDEX)"
    for container in (leader, worker):
        assert container["command"] == ["vllm", "serve"], "the server's module has no --headless"
        assert container["args"][0] == "a/b"
        assert flag(container["args"], "--master-addr") == "$(LWS_LEADER_ADDRESS)"
        [address] = [v for v in container["env"] if v["name"] == "VLLM_HOST_IP"]
        assert address["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert "--headless" in worker["args"]
    assert "--headless" not in leader["args"]
    assert "startupProbe" in leader
    assert not {"startupProbe", "readinessProbe", "livenessProbe", "ports"} & worker.keys()


def test_every_flag_exists_in_the_images_version(tmp_path: Path) -> None:
    # 0.33.0's table was read from its own parser; `--headless` belongs to `vllm serve`, not to the engine.
    known = engine_flags()["0.33.0"].flags.keys() | {"--headless"}
    for container in containers(group(tmp_path)):
        assert {word for word in container["args"] if word.startswith("--")} <= known


def test_a_group_lives_and_dies_as_one_and_others_wait_until_it_is_back(tmp_path: Path) -> None:
    spec = group(tmp_path)
    assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"
    assert spec["rolloutStrategy"]["rollingUpdateConfiguration"] == {"maxUnavailable": 1, "maxSurge": 0}


@pytest.mark.slow
def test_the_other_nodes_outlive_the_drain_of_the_one_that_answers(tmp_path: Path) -> None:
    leader, worker = containers(group(tmp_path))
    leaves, stays = (int(each["lifecycle"]["preStop"]["exec"]["command"][1]) for each in (leader, worker))
    assert stays >= leaves + int(flag(leader["args"], "--shutdown-timeout"))
    grace = group(tmp_path)["leaderWorkerTemplate"]["workerTemplate"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > stays


def test_only_pods_that_answer_are_behind_the_address_and_scraped(tmp_path: Path) -> None:
    files = rendered(tmp_path, "lws", TEXT, Choices(gateway="none"))
    selector = find(files["lws/serving.yaml"], "Service", "d")["spec"]["selector"]
    assert selector["leaderworkerset.sigs.k8s.io/worker-index"] == "0"
    assert find(files["lws/monitoring.yaml"], "PodMonitor", "d-engine")["spec"]["podMetricsEndpoints"]


@pytest.mark.parametrize(
    ("mode", "gpus", "words"),
    [
        ("tensor: 4", 8, "render kubernetes"),
        ("tensor: 8, data: 2", 8, "use replicas"),
        ("tensor: 5, pipeline: 2", 4, "10 ranks cannot be shared by 3 nodes"),
    ],
)
def test_what_no_group_can_be_made_of_says_what_to_do(
    tmp_path: Path, mode: str, gpus: int, words: str
) -> None:
    text = f"name: d\nmodel: a/b\nmodes: [{{kind: parallel, {mode}}}]\n"
    with pytest.raises(UsageError, match=words) as caught:
        group(tmp_path, text, Choices(gpus_per_node=gpus))
    assert "d.yaml:3: modes[0]" in str(caught.value)


def test_an_engine_of_one_rank_is_told_to_be_rendered_for_kubernetes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an engine of 1 rank fits on one node; render kubernetes"):
        group(tmp_path, "name: d\nmodel: a/b\n")
