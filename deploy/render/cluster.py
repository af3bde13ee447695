"""What all targets on a cluster share: which deployments they take, names, labels, and the engine to be run.

Owns: those rules. Knows nothing about the files of any one target.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deploy.render.carried import check_carried
from deploy.render.containers import VERSIONS, ContainerEngine, container_engines
from deploy.render.target import GPUS_PER_NODE, Request
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Device
from serving.modes.parallel import Parallel

LONGEST_NAME = 40
"""Kubernetes' labels hold 63 characters, and an ending and a hash go behind the names of a set's pods."""
PRE_STOP_S = 15
"""Between leaving the endpoints and SIGTERM: as long as KServe's own presets wait."""
STOP_MARGIN_S = 15
MONITORING = "monitoring"
"""The namespace of Prometheus: where kube-prometheus-stack is installed by custom."""


def check_deployment(request: Request, target: str, *, divided: bool = False) -> None:
    """Refuse what no cluster target carries, save `divided` prefill where it is. Raises: UsageError."""
    check_carried(request, target, divided=divided)
    name, where = request.deployment.name, request.document.where(("name",))
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"'{name}' is {len(name)} characters, too long for the names made of it",
            where=where, fix=f"use at most {LONGEST_NAME}",
        )  # fmt: skip
    if not name[0].isalpha():
        raise UsageError(
            f"'{name}' begins with a digit, and names of Services are made of it",
            where=where, fix="begin it with a letter",
        )  # fmt: skip


def device(deployment: Deployment) -> Device:
    """What its engines run on; `auto` is a GPU, for a cluster's nodes are not looked at."""
    return "cpu" if deployment.engine.device == "cpu" else "cuda"


def version_note(deployment: Deployment) -> tuple[str, ...]:
    """Said where the file asks for another vLLM than the image has."""
    pinned, asked = VERSIONS[device(deployment)], deployment.engine.version
    if asked in ("auto", pinned):
        return ()
    return (f"engine.version {asked}: the image is pinned to {pinned}, whose flags these are",)


def sections_note(request: Request) -> tuple[str, ...]:
    """Said of sections that only `teapot serve` reads."""
    said = [
        key for key in ("prometheus", "grafana", "rollout") if request.document.source((key,)) is not None
    ]
    return (f"{', '.join(said)}: read by `teapot serve` only",) if said else ()


def gpus_per_engine(deployment: Deployment) -> int:
    """Ranks of one engine, on however many nodes."""
    mode = deployment.mode(Parallel)
    return mode.world * mode.data if mode else 1


def nodes_per_engine(request: Request) -> int:
    """As many as `hosts` or `nnodes` say, else as its ranks need by `--gpus-per-node`."""
    mode = request.deployment.mode(Parallel)
    if mode and mode.node_count > 1:
        return mode.node_count
    return math.ceil(gpus_per_engine(request.deployment) / (request.choices.gpus_per_node or GPUS_PER_NODE))


def require_one_node(request: Request, target: str) -> None:
    """Refuse an engine that needs several nodes. Raises: UsageError."""
    found, nodes = request.deployment.placed_mode(Parallel), nodes_per_engine(request)
    if found and nodes > 1:
        raise UsageError(
            f"{gpus_per_engine(request.deployment)} ranks need {nodes} nodes; {target} gives an engine one",
            where=request.document.where(("modes", found[0])),
            fix="render lws, or say --gpus-per-node if a node has more",
        )  # fmt: skip


def require_no_ray(request: Request, target: str) -> None:
    """Refuse ranks that Ray is to start, where there is no Ray. Raises: UsageError."""
    found = request.deployment.placed_mode(Parallel)
    if found and found[1].executor == "ray":
        raise UsageError(
            f"executor ray needs a Ray cluster, and {target} has none",
            where=request.document.where(("modes", found[0])), fix="leave executor out, or render ray",
        )  # fmt: skip


def divided_mode(
    request: Request, target: str, connectors: Collection[str], fix: str
) -> Disaggregated | None:
    """Prefill and decode apart, if asked for. Raises: UsageError for a connector that is none of these."""
    found = request.deployment.placed_mode(Disaggregated)
    if found is None:
        return None
    at, mode = found
    if mode.connector.kind not in connectors:
        raise UsageError(
            f"connector {mode.connector.kind} is not carried over to {target}",
            where=request.document.where(("modes", at, "connector", "kind")), fix=fix,
        )  # fmt: skip
    return mode


def engines(request: Request) -> tuple[ContainerEngine, ...]:
    """The engines as containers, each as if on one node: what several are told is the target's to add."""
    modes = tuple(
        mode.model_copy(
            update={"hosts": (), "nnodes": 1, "node_rank": 0, "master_addr": None, "master_port": None}
            | {"host_ip": None}
        )
        if isinstance(mode, Parallel)
        else mode
        for mode in request.deployment.modes
    )
    alone = replace(request, deployment=request.deployment.model_copy(update={"modes": modes}))
    return container_engines(alone, device(request.deployment))


def selector(name: str, part: str) -> dict[str, str]:
    """Labels that find the pods of one part of a deployment."""
    return {"app.kubernetes.io/name": f"teapot-{part}", "app.kubernetes.io/instance": name}


def metadata(name: str, part: str, *, named: str | None = None, **more: Any) -> dict[str, Any]:
    """Of an object that belongs to a part; its name is the part's unless `named`."""
    labels = {**selector(name, part), "app.kubernetes.io/part-of": "teapot"}
    return {"name": named or f"{name}-{part}", "labels": labels | more.pop("labels", {}), **more}


def spread(name: str, part: str) -> dict[str, Any]:
    """The pods of a part on different nodes, as far as there are some."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector(name, part)},
    }


def disruption_budget(name: str, part: str) -> dict[str, Any]:
    """One pod at a time may be evicted; with one pod only, a node can still be drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, part),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(name, part)}},
    }


def ingress_policy(name: str, part: str, rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Who may open connections to the pods of a part; nobody else may."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name, part),
        "spec": {
            "podSelector": {"matchLabels": selector(name, part)},
            "policyTypes": ["Ingress"],
            "ingress": list(rules),
        },
    }


def from_monitoring(port: int) -> dict[str, Any]:
    """Prometheus may read that port."""
    namespace = {"matchLabels": {"kubernetes.io/metadata.name": MONITORING}}
    return {"from": [{"namespaceSelector": namespace}], "ports": [{"port": port, "protocol": "TCP"}]}


def from_pods(name: str, part: str, port: int | None = None) -> dict[str, Any]:
    """The pods of a part may reach that port; None: all ports."""
    rule: dict[str, Any] = {"from": [{"podSelector": {"matchLabels": selector(name, part)}}]}
    return rule if port is None else rule | {"ports": [{"port": port, "protocol": "TCP"}]}
