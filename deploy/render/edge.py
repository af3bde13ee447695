"""Our gateway on a cluster: in front of engines, or in front of a platform's own router.

Owns: its objects, and the deployment file it is given. Knows nothing about what is behind the addresses.

Its admin address stays on loopback in the pod, for it has no keys. What leaves the pod of it is /metrics
alone, through a relay beside it, and only for Prometheus' namespace.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from deploy.render.cluster import (
    STOP_MARGIN_S,
    disruption_budget,
    from_monitoring,
    ingress_policy,
    metadata,
    selector,
    spread,
)
from deploy.render.mounted import gateway_file, left_out_of_gateway
from deploy.render.places import ADMIN_PORT, PUBLIC_PORT, SCRATCH
from deploy.render.relay import RELAY_PORT, relay_config, relay_container
from deploy.render.target import Request
from deploy.render.yaml_text import yaml_text
from serving.config.schema import Deployment

VERSION = "0.1.0"
"""Of our own images; a test holds it to pyproject.toml."""
REPLICAS = 2
"""So that a node can be drained, and a gateway replaced, while the other one answers."""
GRACE_S = 10
"""At least so long a gateway says that it is not ready and still answers: until all nodes have heard."""
FOLDER, KEYS = "/etc/teapot", "/etc/teapot-keys"
USER = 10001
"""Of our images: Kubernetes cannot tell from a name that it is not root."""


def edge(request: Request, urls: Sequence[str], *, health: str | None = "/health") -> list[dict[str, Any]]:
    """All objects of a gateway in front of these base addresses (without /v1)."""
    name = request.deployment.name
    config = _config(request, urls, health)
    return [
        config,
        _deployment(request, config["data"]),
        _service(name),
        disruption_budget(name, "gateway"),
        ingress_policy(
            name,
            "gateway",
            [{"ports": [{"port": PUBLIC_PORT, "protocol": "TCP"}]}, from_monitoring(RELAY_PORT)],
        ),
    ]


def edge_notes(deployment: Deployment) -> tuple[str, ...]:
    """What changes with a gateway on a cluster."""
    notes = [
        f"each of the {REPLICAS} gateways has its own max_in_flight, queue and keys' rates: together they let"
        f" in {REPLICAS} times as much",
        "each gateway knows only of its own requests and prefixes when it chooses an engine",
        "modes are not proven: the gateway sees the engines as servers elsewhere; look at the board Levers",
    ]
    return (*notes, *left_out_of_gateway(deployment))


def keys_paragraph(deployment: Deployment) -> str:
    """How the gateway's keys come to the cluster."""
    if anonymous(deployment):
        return "The gateway takes requests without keys (gateway.allow_anonymous)."
    name = deployment.name
    return (
        "The gateway wants keys, for every pod reaches it. Make them before it starts:\n"
        f"  teapot keys add alice --file keys.yaml\n"
        f"  kubectl create secret generic {name}-keys --from-file=keys.yaml"
    )


def anonymous(deployment: Deployment) -> bool:
    """Whether the file says that no keys are meant."""
    return deployment.gateway.allow_anonymous and deployment.gateway.keys_file is None


def edge_file(request: Request, urls: Sequence[str], health: str | None) -> dict[str, Any]:
    """The gateway's deployment file: the file's own words, with a cluster's addresses and places."""
    deployment = request.deployment
    keys_file = None if anonymous(deployment) else f"{KEYS}/keys.yaml"
    found = gateway_file(deployment, request.document, urls, keys_file=keys_file, health=health)
    found["gateway"]["grace"] = f"{grace_s(deployment)}s"
    return found


def grace_s(deployment: Deployment) -> int:
    """The file's own, if it is long enough for a cluster."""
    return max(GRACE_S, math.ceil(deployment.gateway.grace))


def service(
    name: str, part: str, port: int, *, named: str | None = None, headless: bool = False
) -> dict[str, Any]:
    """One address of a part's pods inside the cluster; `headless`: one for each pod.

    `named`: beside the part's own Service, so it gets labels of its own, that Prometheus finds each pod once.
    """
    spec: dict[str, Any] = {
        "selector": selector(name, part),
        "ports": [{"name": "http", "port": port, "targetPort": "http"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, "api", named=named) if named else metadata(name, part),
        "spec": ({"clusterIP": "None"} if headless else {"type": "ClusterIP"}) | spec,
    }


def own_image(request: Request, part: str) -> str:
    """One of ours, which has to be built and pushed."""
    return f"{request.choices.image_prefix or ''}teapot-{part}:{VERSION}"


def own_user() -> dict[str, Any]:
    """Of a pod with an image of ours: its user may read what is mounted."""
    return {"fsGroup": USER, "seccompProfile": {"type": "RuntimeDefault"}}


def guarded() -> dict[str, Any]:
    """What a container of ours may do: as little as it needs."""
    return {
        "runAsUser": USER,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _service(name: str) -> dict[str, Any]:
    found = service(name, "gateway", PUBLIC_PORT)
    found["spec"]["ports"].append({"name": "metrics", "port": RELAY_PORT, "targetPort": "metrics"})
    return found


def _config(request: Request, urls: Sequence[str], health: str | None) -> dict[str, Any]:
    files = {
        "gateway.yaml": yaml_text(edge_file(request, urls, health)),
        "relay.conf": relay_config(ADMIN_PORT),
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(request.deployment.name, "gateway"),
        "data": files,
    }


def _deployment(request: Request, config: Mapping[str, str]) -> dict[str, Any]:
    deployment = request.deployment
    name, labels = deployment.name, selector(deployment.name, "gateway")
    # A changed ConfigMap alone would restart nothing.
    digest = hashlib.sha256(repr(sorted(config.items())).encode()).hexdigest()[:16]
    volumes: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": f"{name}-gateway"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    if not anonymous(deployment):
        volumes.append({"name": "keys", "secret": {"secretName": f"{name}-keys", "defaultMode": 0o440}})
    drain_s = math.ceil(deployment.gateway.drain_timeout)
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_s(deployment) + drain_s + STOP_MARGIN_S,
        "securityContext": own_user(),
        "topologySpreadConstraints": [spread(name, "gateway")],
        "containers": [_gateway(request), relay_container("config", "scratch")],
        "volumes": volumes,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, "gateway"),
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels, "annotations": {"teapot/config": digest}},
                "spec": pod,
            },
        },
    }


def _gateway(request: Request) -> dict[str, Any]:
    mounts = [
        {"name": "config", "mountPath": FOLDER, "readOnly": True},
        {"name": "scratch", "mountPath": SCRATCH},
    ]
    if not anonymous(request.deployment):
        mounts.append({"name": "keys", "mountPath": KEYS, "readOnly": True})
    live = {"httpGet": {"path": "/health/live", "port": "http"}}
    ready = {"httpGet": {"path": "/health/ready", "port": "http"}}
    return {
        "name": "gateway",
        "image": own_image(request, "gateway"),
        "args": ["serve", f"{FOLDER}/gateway.yaml"],
        "ports": [{"name": "http", "containerPort": PUBLIC_PORT}],
        # One process of it keeps one core busy.
        "resources": {"requests": {"cpu": str(request.deployment.gateway.workers), "memory": "512Mi"}},
        "startupProbe": {**live, "periodSeconds": 1, "failureThreshold": 60},
        # 503 while no engine can answer, and from the moment it is told to end.
        "readinessProbe": {**ready, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 1},
        "livenessProbe": {**live, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        "volumeMounts": mounts,
        "securityContext": guarded(),
    }
