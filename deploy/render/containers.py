"""Engines as they are started in containers: the same flags as `teapot flags` shows, with a container's own
addresses and folders.

Owns: images, and what of a command a container changes. Knows nothing about the files that hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.render.contexts import startable
from deploy.render.target import Request
from serving.config.flags import EngineCommand, Placement, engine_command
from serving.config.layout import ranks
from serving.modes.mode import Device, Role

ENGINE_PORT = 8000
CACHE = "/cache"
"""A named volume: weights from the hub, and what vLLM compiled."""
VERSIONS: Mapping[Device, str] = {"cuda": "0.33.0", "cpu": "0.32.0"}
"""As `teapot engine install` pins them; a test holds this to serving/engine/requirements/recipes.toml."""
IMAGES: Mapping[Device, str] = {
    "cuda": f"vllm/vllm-openai:v{VERSIONS['cuda']}",
    "cpu": f"vllm/vllm-openai-cpu:v{VERSIONS['cpu']}",
}
_FOLDERS = {
    "HOME": CACHE,
    "HF_HOME": f"{CACHE}/huggingface",
    "VLLM_CACHE_ROOT": f"{CACHE}/vllm",
    "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/torchinductor",
    "VLLM_NO_USAGE_STATS": "1",
}
_OF_THE_MACHINE = ("CUDA_VISIBLE_DEVICES", "VLLM_CPU_OMP_THREADS_BIND", "HF_HUB_OFFLINE")
"""What a container decides itself: it sees only its own devices and cores, and fetches its model."""


def without_folders(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables for pods without that volume: all else, and folders that the deployment file names itself."""
    ours = {(key, value) for key, value in _FOLDERS.items() if value.startswith(CACHE)}
    return {key: value for key, value in environment.items() if (key, value) not in ours}


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """One engine: how it is started in its image."""

    name: str
    image: str
    argv: tuple[str, ...]
    """What the image's Python is given."""
    environment: Mapping[str, str]
    devices: tuple[int, ...]
    """GPUs of the host; empty on CPU."""
    role: Role = "any"


def container_engines(request: Request, device: Device) -> tuple[ContainerEngine, ...]:
    """The engines of a deployment on one kind of device. Raises: UsageError with what cannot be started."""
    deployment, document = request.deployment, request.document
    each = ranks(deployment)
    found = []
    for number, context in enumerate(startable(request, device, VERSIONS[device])):
        placement = Placement(
            python="python3",
            port=ENGINE_PORT,
            model_path=deployment.model,
            model_name=deployment.model,
            offline=False,
            environment=_FOLDERS,
        )
        command = engine_command(deployment, document, placement, context)
        devices = () if device == "cpu" else tuple(range(number * each, (number + 1) * each))
        found.append(_contained(command, f"engine-{number}", device, devices, context.slot.role))
    return tuple(found)


def _contained(
    command: EngineCommand, name: str, device: Device, devices: tuple[int, ...], role: Role
) -> ContainerEngine:
    words = list(command.argv[1:])
    # Of its own network, which only the gateway and Prometheus share.
    words[words.index("--host") + 1] = "0.0.0.0"
    environment = {k: v for k, v in command.environment.items() if k not in _OF_THE_MACHINE}
    return ContainerEngine(name, IMAGES[device], tuple(words), environment, devices, role)
