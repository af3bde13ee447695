"""The environment of an engine: what teapot sets in it, what a file may set, what is kept away from it.

Owns: which variable says what, and which ones a file may not set. Knows nothing about flags, or about the
environment that teapot itself was started in beyond what a context carries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from serving.config.document import Document, KeyPath
from serving.config.layout import ranks
from serving.config.schema import Deployment
from serving.facts.load_flags import any_version
from serving.modes.cores import OMP_BINDING, omp_binding
from serving.modes.mode import EngineContext, Setting
from serving.modes.nodes import GLOO_INTERFACE

KV_CACHE_SPACE = "VLLM_CPU_KVCACHE_SPACE"
DEVICES = "CUDA_VISIBLE_DEVICES"
TEAPOT = "teapot"
OWNED: Mapping[str, str] = {
    KV_CACHE_SPACE: "use engine.kv_cache_memory",
    OMP_BINDING: "use engine.cores",
    DEVICES: "set it for teapot itself, which shares the devices out among its engines",
    "VLLM_API_KEY": "keys are the gateway's: use gateway.keys_file",
    "VLLM_NO_USAGE_STATS": "it is always set",
    "HF_HUB_OFFLINE": "it is set where all files are on this machine",
    "VLLM_NIXL_SIDE_CHANNEL_PORT": "each engine is given its own by the mode disaggregated",
    "TMPDIR": "each engine is given its own",
}
"""Variables that `engine.env` may not set, and what to do in their place."""
DROPPED: Mapping[str, str] = {
    KV_CACHE_SPACE: "it would win over engine.kv_cache_memory",
    OMP_BINDING: "it would bind every engine to the same cores",
    "VLLM_API_KEY": "engines would refuse the gateway",
}
"""Inherited variables that would silently change an engine, and how."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def engine_variables(
    deployment: Deployment,
    document: Document,
    context: EngineContext,
    placed: Mapping[str, str],
    *,
    offline: bool,
) -> tuple[Setting, ...]:
    """All variables of one engine, each once. `placed` are those of its folders, which a file may change."""
    found = {name: Setting(name, value, TEAPOT) for name, value in placed.items()}
    for name, value in deployment.engine.env.items():
        found[name] = Setting(name, spelt(value), _source(document, ("engine", "env", name)))
    found["VLLM_NO_USAGE_STATS"] = Setting("VLLM_NO_USAGE_STATS", "1", TEAPOT)
    if offline:
        found["HF_HUB_OFFLINE"] = Setting("HF_HUB_OFFLINE", "1", f"{TEAPOT}: all files are local")
    for setting in _of_the_slot(deployment, document, context):
        found[setting.name] = setting
    for index, mode in enumerate(deployment.modes):
        for name, value in mode.environment(context).items():
            if name == GLOO_INTERFACE and name in deployment.engine.env:
                continue  # the mode's is a guess by the address
            found[name] = Setting(name, value, _source(document, ("modes", index)))
    return tuple(found.values())


def dropped(settings: tuple[Setting, ...]) -> tuple[str, ...]:
    """The variables that an engine must not inherit: those of `DROPPED` that are not set for it anyway."""
    given = {setting.name for setting in settings}
    return tuple(name for name in DROPPED if name not in given)


def env_problems(env: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """For each name that a file may not set: the name, what is wrong, what to do."""
    for name in env:
        if not _NAME.fullmatch(name):
            yield name, "is not a variable's name", "write it like VLLM_LOGGING_LEVEL: DEBUG"
        elif "\0" in str(env[name]):
            yield name, "holds a NUL, which no variable of a process can", "leave it out"
        elif name in OWNED:
            yield name, f"{name} is decided by teapot", OWNED[name]
        elif complaint := any_version().variable(name):
            yield name, *complaint


def spelt(value: Any) -> str:
    """A value as programs read it from their environment: true is 1, false is 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _of_the_slot(deployment: Deployment, document: Document, context: EngineContext) -> Iterator[Setting]:
    slot = context.slot
    space, rest = divmod(context.kv_cache_bytes or 0, 1024**3)
    if context.device == "cpu" and space and not rest:
        # The variable wins over the flag and counts whole GiB: said as well, or kept away (see DROPPED).
        yield Setting(KV_CACHE_SPACE, str(space), _source(document, ("engine", "kv_cache_memory")))
    if context.device == "cpu" and slot.cores:
        source = document.source(("engine", "cores")) or f"{TEAPOT}: the share of {slot.name}"
        yield Setting(OMP_BINDING, omp_binding(slot.cores, ranks(deployment)), source)
    if context.device != "cpu" and slot.devices:
        yield Setting(DEVICES, _visible(context), f"{TEAPOT}: the share of {slot.name}")


def _visible(context: EngineContext) -> str:
    """The slot's devices, counted among those that teapot itself may see."""
    seen = [name for name in context.inherited.get(DEVICES, "").split(",") if name]
    return ",".join(seen[index] if index < len(seen) else str(index) for index in context.slot.devices)


def _source(document: Document, path: KeyPath) -> str:
    return document.source(path) or "default"
