"""KServe's LLMInferenceService (v1alpha2): its own router, scheduler and presets, our engines' flags.

Owns: that object. Knows nothing about our gateway.

KServe merges what is here into its presets by the container's name (config/llmisvcconfig). They start
`vllm serve /mnt/models` through bash and read its arguments a second time by `eval`, so each is quoted for
a shell. They set the model, its name, the port, and --shutdown-timeout from the pod's own grace.
"""

from __future__ import annotations

import math
import shlex
from typing import Any

from deploy.render.carried import escaped
from deploy.render.cluster import (
    check_deployment,
    divided_mode,
    engines,
    require_no_ray,
    require_one_node,
    version_note,
)
from deploy.render.containers import ContainerEngine, without_folders
from deploy.render.edge import USER
from deploy.render.engine_words import LISTENING, NAMED, flags_of, words_of
from deploy.render.platform_files import Platform, platform_files
from deploy.render.pods import PROBE_EVERY_S, SHARED_MEMORY, resources, stop_s
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import yaml_text
from serving.modes.disaggregated import Disaggregated

NAME = "kserve"
_PRESET = (*NAMED, *LISTENING, "--shutdown-timeout")
"""Flags that the presets give."""
_CONNECTORS = ("nixl",)
"""What the routing sidecar of the presets speaks (`--kv-connector=nixlv2`)."""
_SIDE_CHANNEL = ("VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_NIXL_SIDE_CHANNEL_PORT")
_SIDE_CHANNEL_PORT = "5600"
"""vLLM's own; a pod has one engine, so all may have the same."""


def render_kserve(request: Request) -> Rendered:
    """The service, with a prefill section where prefill and decode are apart. Raises: UsageError."""
    check_deployment(request, NAME, divided=True)
    require_no_ray(request, NAME)
    require_one_node(request, NAME)
    pair = divided_mode(request, NAME, _CONNECTORS, "use nixl, which KServe's routing sidecar speaks")
    name = request.deployment.name
    notes = [
        "ready on a generated token: KServe's presets ask /health",
        "scraping: KServe's own PodMonitor renames metrics to kserve_vllm:..., which boards do not ask for;"
        " add a monitor of yours with the labels of deploy/decisions/0010",
        "routing: KServe's scheduler chooses, and gateway.routing means nothing to it",
        "cores and memory of engines: the deployment file has none; add what your nodes have",
        *version_note(request.deployment),
    ]
    if pair:
        notes.append("gateway.routing.prefill_from_tokens: the scheduler decides which prompts are divided")
    return platform_files(
        request,
        Platform(
            target=NAME,
            file="service.yaml",
            text=yaml_text(_service(request, pair)),
            usage=(
                "kubectl apply -f service.yaml, in a cluster with KServe's LLMInferenceService (v1alpha2).\n"
                "The image runs as another user than root, which KServe's presets ask for and this image\n"
                "does not do by itself."
            ),
            notes=tuple(notes),
            find_url=f"kubectl get llmisvc {name} -o jsonpath={{.status.url}} tells it, without /v1",
        ),
    )


def _service(request: Request, pair: Disaggregated | None) -> dict[str, Any]:
    deployment = request.deployment
    found = [escaped(engine) for engine in engines(request)]
    first = found[-1] if pair else found[0]
    spec: dict[str, Any] = {
        "model": {"uri": f"hf://{deployment.model}", "name": deployment.model},
        "replicas": pair.decode if pair else deployment.replicas,
        "router": {"route": {}, "gateway": {}, "scheduler": {}},
        "template": _template(request, first),
    }
    if pair:
        prefill = next(engine for engine in found if engine.role == "prefill")
        spec["prefill"] = {"replicas": pair.prefill, "template": _template(request, prefill)}
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": {"name": deployment.name, "labels": {"app.kubernetes.io/part-of": "teapot"}},
        "spec": spec,
    }


def _template(request: Request, engine: ContainerEngine) -> dict[str, Any]:
    deployment = request.deployment
    own = without_folders(engine.environment)
    env: list[dict[str, Any]] = [
        {"name": key, "value": value} for key, value in own.items() if key not in _SIDE_CHANNEL
    ]
    # Torch asks who it is, and a number without an entry in /etc/passwd has no name.
    env.append({"name": "USER", "value": "teapot"})
    if engine.role != "any":
        address = {"fieldRef": {"fieldPath": "status.podIP"}}
        env.append({"name": _SIDE_CHANNEL[0], "valueFrom": address})
        env.append({"name": _SIDE_CHANNEL[1], "value": _SIDE_CHANNEL_PORT})
    container: dict[str, Any] = {
        "name": "main",
        "image": engine.image,
        "args": [shlex.quote(word) for word in words_of(flags_of(engine, without=_PRESET))],
        "env": env,
        "securityContext": {"runAsUser": USER},
        "startupProbe": {"failureThreshold": math.ceil(deployment.engine.start_timeout / PROBE_EVERY_S)},
    }
    if limits := resources(len(engine.devices), deployment):
        container["resources"] = limits
    return {
        "terminationGracePeriodSeconds": stop_s(deployment),
        "containers": [container],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}}],
    }
