"""Helm values for vLLM's production-stack: its chart starts the engines, its router chooses among them.

Owns: these values. Knows nothing about our gateway.

Read from the chart (helm/templates, 2026-08): it starts `vllm serve MODEL --host 0.0.0.0 --port 8000`,
switches prefix caching OFF unless told otherwise, and gives an engine 30 seconds from SIGTERM to SIGKILL.
"""

from __future__ import annotations

import math
from typing import Any

from deploy.render.carried import escaped
from deploy.render.cluster import (
    check_deployment,
    device,
    engines,
    require_no_ray,
    require_one_node,
    version_note,
)
from deploy.render.containers import ENGINE_PORT, without_folders
from deploy.render.engine_words import LISTENING, Flags, flags_of, words_of
from deploy.render.monitoring import RELEASE, fixed
from deploy.render.platform_files import Platform, platform_files
from deploy.render.pods import PROBE_EVERY_S, SHARED_MEMORY, resources
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import yaml_text
from deploy.scrape_config import SCRAPE_INTERVAL_S
from serving.config.revisions import OWN, own_revision

NAME = "production-stack"
SHUTDOWN_S = 20
"""Of the 30 seconds that Kubernetes gives a pod, since the chart asks for no more."""
_STRUCTURED = {
    "--max-model-len": "maxModelLen",
    "--max-num-seqs": "maxNumSeqs",
    "--tensor-parallel-size": "tensorParallelSize",
}
_CACHING = {"--enable-prefix-caching": True, "--no-enable-prefix-caching": False}
_ROUTING = {
    "least_in_flight": "roundrobin",
    "round_robin": "roundrobin",
    "prefix_affinity": "prefixaware",
    "session_affinity": "session",
}
_SESSION_HEADER = "x-session-id"


def render_production_stack(request: Request) -> Rendered:
    """The values, and what stands beside the chart. Raises: UsageError."""
    check_deployment(request, NAME)
    require_no_ray(request, NAME)
    require_one_node(request, NAME)
    deployment, name = request.deployment, request.deployment.name
    policy = deployment.gateway.routing.policy
    notes = [
        "ready on a generated token: the chart's probes ask /health",
        f"draining: the chart has neither preStop nor a longer grace, so answers get {SHUTDOWN_S} s and not"
        f" {deployment.gateway.drain_timeout:g} s",
        *version_note(deployment),
        "the engines' cache: one claim would be shared by all replicas; each start fetches the weights",
    ]
    if _ROUTING[policy] == "roundrobin" and policy != "round_robin":
        notes.append(f"gateway.routing.policy {policy}: the router has none like it, and takes turns")
    return platform_files(
        request,
        Platform(
            target=NAME,
            file="values.yaml",
            text=yaml_text(_values(request)),
            usage=(
                f"helm install {name} vllm/vllm-stack -f values.yaml; the release is called {name}, for the\n"
                "addresses and labels here are made of it."
            ),
            notes=tuple(notes),
            url=f"http://{name}-router-service/v1",
        ),
    )


def _values(request: Request) -> dict[str, Any]:
    deployment, name = request.deployment, request.deployment.name
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"{name}-engines"},
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": {"model": name, "helm-release-name": name}},
        },
    }
    return {
        "servingEngineSpec": {
            "enableEngine": True,
            "containerPort": ENGINE_PORT,
            **({"runtimeClassName": ""} if device(deployment) == "cpu" else {}),
            "startupProbe": _probe(math.ceil(deployment.engine.start_timeout / PROBE_EVERY_S)),
            "livenessProbe": _probe(max(3, math.ceil(deployment.engine.stuck_after / PROBE_EVERY_S))),
            "readinessProbe": _probe(3),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "serviceMonitor": _monitor(name, own_revision(deployment) or OWN),
            "modelSpec": [_model(request)],
        },
        "routerSpec": _router(deployment.gateway.routing.policy),
        "extraObjects": [budget],
    }


def _model(request: Request) -> dict[str, Any]:
    deployment = request.deployment
    first = escaped(engines(request)[0])
    repository, _, tag = first.image.rpartition(":")
    flags = flags_of(first, without=("--model", *LISTENING))
    own = without_folders(first.environment)
    return {
        "name": deployment.name,
        "repository": repository,
        "tag": tag,
        "modelURL": deployment.model,
        "replicaCount": deployment.replicas,
        "resources": resources(len(first.devices), deployment),
        "shmSize": SHARED_MEMORY,
        "vllmConfig": _config(flags),
        "env": [{"name": key, "value": value} for key, value in own.items()],
    }


def _config(flags: Flags) -> dict[str, Any]:
    """What the chart has a key for, and the rest as words."""
    # Its own size of shared memory comes with this key only.
    config: dict[str, Any] = {"tensorParallelSize": 1, "enablePrefixCaching": True}
    rest: list[tuple[str, tuple[str, ...]]] = []
    for flag, words in flags:
        if flag in _STRUCTURED:
            config[_STRUCTURED[flag]] = int(words[0])
        elif flag in _CACHING:
            config["enablePrefixCaching"] = _CACHING[flag]
        elif flag == "--shutdown-timeout":
            rest.append((flag, (str(min(SHUTDOWN_S, int(words[0]))),)))
        else:
            rest.append((flag, words))
    return config | {"extraArgs": words_of(rest)}


def _router(policy: str) -> dict[str, Any]:
    logic = _ROUTING[policy]
    return {
        "enableRouter": True,
        "replicaCount": 1,
        "routingLogic": logic,
        **({"sessionKey": _SESSION_HEADER} if logic == "session" else {}),
        "pdb": {"enabled": True, "maxUnavailable": 1},
    }


def _monitor(name: str, revision: str) -> dict[str, Any]:
    return {
        "enabled": True,
        "additionalLabels": {"release": RELEASE},
        "interval": f"{SCRAPE_INTERVAL_S}s",
        "scrapeTimeout": f"{SCRAPE_INTERVAL_S - 1}s",
        "relabelings": fixed(name, "engine", {"revision": revision, "role": "any"}),
    }


def _probe(failures: int) -> dict[str, Any]:
    asked = {"path": "/health", "port": ENGINE_PORT}
    return {
        "initialDelaySeconds": PROBE_EVERY_S,
        "periodSeconds": PROBE_EVERY_S,
        "failureThreshold": failures,
        "httpGet": asked,
    }
