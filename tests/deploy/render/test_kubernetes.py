"""Plain Kubernetes: engines with names that stay."""

from __future__ import annotations

from pathlib import Path

import yaml
from fakes.clusters import find, rendered

TEXT = "name: d\nmodel: a/b\nreplicas: 3\nmodes: [{kind: parallel, tensor: 2}]\n"


def test_the_gateway_knows_each_engine_by_the_name_of_its_pod(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", TEXT)["kubernetes/serving.yaml"]
    engines = find(text, "StatefulSet", "d-engine")
    assert engines["spec"]["replicas"] == 3
    # A pod's name in DNS is its set's name, its number, and the headless Service that the set names.
    assert engines["spec"]["serviceName"] == "d-engine"
    assert find(text, "Service", "d-engine")["spec"]["clusterIP"] == "None"
    told = yaml.safe_load(find(text, "ConfigMap", "d-gateway")["data"]["gateway.yaml"])
    assert told["revisions"][0]["urls"] == [f"http://d-engine-{n}.d-engine:8000/v1" for n in range(3)]


def test_each_engine_has_its_gpus_and_a_volume_of_its_own(tmp_path: Path) -> None:
    text = rendered(tmp_path, "kubernetes", TEXT)["kubernetes/serving.yaml"]
    spec = find(text, "StatefulSet", "d-engine")["spec"]
    [container] = spec["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    [claim] = spec["volumeClaimTemplates"]
    assert claim["metadata"]["name"] in {mount["name"] for mount in container["volumeMounts"]}
