"""An engine as a pod: its container, probes, how it ends, what it may do.

Owns: that pod. Knows nothing about what makes pods of it (a StatefulSet, a LeaderWorkerSet).

Ready means that one real token was generated: vLLM's /health has answered 200 where the first generation then
crashed the engine. So the startup probe asks for one token, once; after it /health is asked. While vLLM
drains, /health stays 200 and new requests get 500, so the pod leaves the endpoints before it hears
SIGTERM (preStop).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from deploy.render.cluster import PRE_STOP_S, STOP_MARGIN_S
from deploy.render.containers import CACHE, ENGINE_PORT, ContainerEngine
from serving.config.flags import SHUTDOWN_MARGIN_S
from serving.config.schema import Deployment

SHARED_MEMORY = "8Gi"
"""vLLM's processes hand each other tensors through it."""
CLAIM = "100Gi"
"""For weights and compiled code, where nobody says more: the claim is there to be changed."""
TOKEN = "HF_TOKEN"
PROBE_EVERY_S = 10
FIRST_TOKEN_S = 60
"""What the probe's one token may take, a first compilation for its shape included."""


def engine_pod(
    engine: ContainerEngine,
    deployment: Deployment,
    *,
    command: Sequence[str],
    args: Sequence[str],
    gpus: int | None = None,
    serves: bool = True,
) -> dict[str, Any]:
    """The pod's spec. `gpus`: fewer than the engine's, on one of its nodes. `serves`: it answers HTTP."""
    container: dict[str, Any] = {
        "name": "engine",
        "image": engine.image,
        "command": list(command),
        "args": list(args),
        "env": environment(engine.environment, deployment.name),
        "resources": resources(len(engine.devices) if gpus is None else gpus, deployment),
        "volumeMounts": [
            {"name": "cache", "mountPath": CACHE},
            {"name": "shared-memory", "mountPath": "/dev/shm"},
        ],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if serves:
        container |= {"ports": [{"name": "http", "containerPort": ENGINE_PORT}], **probes(deployment)}
    else:
        # It has to outlive the node that answers, which drains meanwhile.
        container["lifecycle"] = _sleep(stop_s(deployment) - STOP_MARGIN_S)
    return {
        # A Service called `vllm` would otherwise set VLLM_PORT, which vLLM takes for its own.
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": stop_s(deployment),
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}}],
    }


def cache_claim() -> dict[str, Any]:
    """Each engine's own volume: it outlives the pod, so a restart fetches and compiles nothing again."""
    return {
        "metadata": {"name": "cache"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": CLAIM}}},
    }


def environment(variables: Mapping[str, str], name: str) -> list[dict[str, Any]]:
    """The engine's variables, and the hub's token from a Secret, if there is one and the file names none."""
    found: list[dict[str, Any]] = [{"name": key, "value": value} for key, value in variables.items()]
    if TOKEN not in variables:
        token = {"secretKeyRef": {"name": f"{name}-hub", "key": "token", "optional": True}}
        found.append({"name": TOKEN, "valueFrom": token})
    return found


def resources(gpus: int, deployment: Deployment) -> dict[str, Any]:
    """Its GPUs; on CPU as many cores as the file gives each engine."""
    if gpus:
        return {"limits": {"nvidia.com/gpu": gpus}}
    cores = deployment.engine.cores
    if isinstance(cores, int):
        return {"requests": {"cpu": str(cores)}, "limits": {"cpu": str(cores)}}
    return {}


def stop_s(deployment: Deployment) -> int:
    """How long a pod may take to end: leaving the endpoints, vLLM's own --shutdown-timeout, and a margin."""
    return PRE_STOP_S + math.ceil(deployment.gateway.drain_timeout) + SHUTDOWN_MARGIN_S + STOP_MARGIN_S


def probes(deployment: Deployment) -> dict[str, Any]:
    """Started, ready, alive, and leaving."""
    section = deployment.engine
    health = {"httpGet": {"path": "/health", "port": ENGINE_PORT}}
    return {
        "startupProbe": {
            "exec": {"command": ["python3", "-c", one_token(deployment.model)]},
            "periodSeconds": PROBE_EVERY_S,
            "timeoutSeconds": FIRST_TOKEN_S,
            "failureThreshold": math.ceil(section.start_timeout / PROBE_EVERY_S),
        },
        "readinessProbe": {**health, "periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {
            **health,
            "periodSeconds": PROBE_EVERY_S,
            "timeoutSeconds": PROBE_EVERY_S,
            "failureThreshold": max(3, math.ceil(section.stuck_after / PROBE_EVERY_S)),
        },
        "lifecycle": _sleep(PRE_STOP_S),
    }


def _sleep(seconds: int) -> dict[str, Any]:
    return {"preStop": {"exec": {"command": ["sleep", str(seconds)]}}}


def one_token(model: str) -> str:
    """Python that fails unless the engine generates a token; it needs nothing beyond the standard library."""
    body = json.dumps({"model": model, "prompt": "a", "max_tokens": 1})
    url, kind = f"http://127.0.0.1:{ENGINE_PORT}/v1/completions", {"Content-Type": "application/json"}
    request = f"r.Request({url!r}, {body!r}.encode(), {kind!r})"
    return f"import urllib.request as r; r.urlopen({request}, timeout={FIRST_TOKEN_S - 5})"
