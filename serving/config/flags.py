"""A deployment becomes an engine's command: argv and environment, each value with where it came from.

Owns: which section becomes which flag, and teapot's own defaults. Knows nothing about processes,
folders or devices: where things lie comes in as a `Placement`.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from serving.config.arguments import argument_flags
from serving.config.document import Document, KeyPath
from serving.config.schema import Deployment
from serving.errors import Failed, Problem
from serving.facts.load import histogram_buckets
from serving.modes.mode import Device, EngineContext, ModelFacts, Setting

SERVER_MODULE = "vllm.entrypoints.openai.api_server"
LOOPBACK = "127.0.0.1"
CPU_KV_CACHE_BYTES = 2 * 1024**3
"""Given where a deployment says nothing: on CPU vLLM would otherwise reserve most of the machine."""
SHUTDOWN_MARGIN_S = 10
"""SIGTERM with requests in flight hangs vLLM 0.32 where its time-out is shorter than they are."""
_TEAPOT = "teapot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one engine is to run: its Python, its port on loopback, its model."""

    python: str
    port: int | None
    """On loopback; None: chosen when the engine starts."""
    model_path: str
    """A folder, or a hub id."""
    model_name: str
    """What clients say."""
    offline: bool = True
    """All files are on this machine, so no hub is asked."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the engine's folders and cores."""


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """What starts an engine. `environment` is added to the parent's."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    settings: tuple[Setting, ...]
    """Every flag, then every variable, with its source."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A flag with the words after it, before it is joined into argv."""

    flag: str
    words: tuple[str, ...]
    source: str


def engine_context(
    deployment: Deployment, *, device: Device, version: str, model: ModelFacts | None
) -> EngineContext:
    """What the modes of a deployment need to know, with the KV cache that teapot gives by default."""
    default = CPU_KV_CACHE_BYTES if device == "cpu" else None
    return EngineContext(
        device=device,
        version=version,
        model=model,
        kv_cache_bytes=deployment.engine.kv_cache_memory or default,
        max_model_len=deployment.engine.max_model_len or (model.max_position if model else None),
        kinds=frozenset(mode.kind for mode in deployment.modes),
    )


def engine_command(
    deployment: Deployment, document: Document, placement: Placement, context: EngineContext
) -> EngineCommand:
    """Work out how one engine of a deployment is started, in the order of the deployment file."""
    given = [
        *_own(deployment, document, placement),
        *_sized(deployment, document, context),
        *_observed(deployment, document),
        *_modes(deployment, document, context),
        *_arguments(deployment, document),
    ]
    variables = _variables(deployment, document, placement, context)
    argv = [placement.python, "-m", SERVER_MODULE]
    for item in given:
        argv += _joined(item)
    flags = [
        Setting(item.flag, shlex.join(item.words) if item.words else None, item.source) for item in given
    ]
    environment = {setting.name: str(setting.value) for setting in variables}
    return EngineCommand(tuple(argv), environment, (*flags, *variables))


def startup_problems(deployment: Deployment, document: Document, context: EngineContext) -> list[Problem]:
    """All that keeps a deployment from starting here and with this version of teapot."""
    found: list[Problem] = []
    for index, mode in enumerate(deployment.modes):
        where = document.where(("modes", index))
        if not mode.runs:
            found.append(Problem(f"mode '{mode.kind}' cannot be started yet in this version", where))
        found += [
            Problem(problem.what, problem.where or where, problem.fix) for problem in mode.problems(context)
        ]
    if deployment.replicas > 1:
        what = f"{deployment.replicas} replicas cannot be started yet in this version"
        found.append(Problem(what, document.where(("replicas",)), "set replicas: 1"))
    engine, model = deployment.engine, context.model
    if engine.gpu_memory_utilization is not None and context.device == "cpu":
        where = document.where(("engine", "gpu_memory_utilization"))
        found.append(Problem("there is no GPU memory on device cpu", where, "use kv_cache_memory"))
    if engine.max_model_len and model and engine.max_model_len > model.max_position:
        what = f"{engine.max_model_len} is longer than the {model.max_position} positions of {model.name}"
        where = document.where(("engine", "max_model_len"))
        found.append(Problem(what, where, f"set {model.max_position} or less"))
    return found


def check_startable(deployment: Deployment, document: Document, context: EngineContext) -> None:
    """Refuse before anything is paid for. Raises: Failed with all of `startup_problems`."""
    problems = startup_problems(deployment, document, context)
    if problems:
        raise Failed.of(problems)


def _source(document: Document, path: KeyPath) -> str:
    return document.source(path) or "default"


def _own(deployment: Deployment, document: Document, placement: Placement) -> Iterator[_Given]:
    model = _source(document, ("model",))
    yield _Given("--model", (placement.model_path,), model)
    yield _Given("--served-model-name", (placement.model_name,), model)
    yield _Given("--host", (LOOPBACK,), _TEAPOT)
    yield _Given("--port", ("<a free port>" if placement.port is None else str(placement.port),), _TEAPOT)
    drain_s = math.ceil(deployment.gateway.drain_timeout) + SHUTDOWN_MARGIN_S
    yield _Given("--shutdown-timeout", (str(drain_s),), _source(document, ("gateway", "drain_timeout")))


def _sized(deployment: Deployment, document: Document, context: EngineContext) -> Iterator[_Given]:
    engine = deployment.engine
    sizes = {
        "max_model_len": ("--max-model-len", engine.max_model_len),
        "max_num_seqs": ("--max-num-seqs", engine.max_num_seqs),
        "gpu_memory_utilization": ("--gpu-memory-utilization", engine.gpu_memory_utilization),
        "kv_cache_memory": ("--kv-cache-memory-bytes", context.kv_cache_bytes),
    }
    for key, (flag, value) in sizes.items():
        if value is not None:
            yield _Given(flag, (str(value),), _source(document, ("engine", key)))


def _observed(deployment: Deployment, document: Document) -> Iterator[_Given]:
    yield _Given("--enable-prompt-tokens-details", (), _TEAPOT)
    families = {"time_to_first_token": deployment.slo.ttft, "inter_token_latency": deployment.slo.tpot}
    families["request_latency"] = deployment.slo.e2e
    buckets = {}
    for family, bound in families.items():
        defaults = histogram_buckets()[family]
        if bound and bound not in defaults:
            buckets[family] = sorted([*defaults, bound])
    if buckets:
        value = json.dumps(buckets, separators=(",", ":"))
        yield _Given("--custom-histogram-buckets", (value,), _source(document, ("slo",)))


def _modes(deployment: Deployment, document: Document, context: EngineContext) -> Iterator[_Given]:
    for index, mode in enumerate(deployment.modes):
        source = _source(document, ("modes", index))
        for flag, value in mode.flags(context):
            yield _Given(flag, () if value is None else (value,), source)


def _arguments(deployment: Deployment, document: Document) -> Iterator[_Given]:
    for key, flag, words in argument_flags(deployment.engine.args):
        yield _Given(flag, words, _source(document, ("engine", "args", key)))


def _variables(
    deployment: Deployment, document: Document, placement: Placement, context: EngineContext
) -> Sequence[Setting]:
    variables = {"VLLM_NO_USAGE_STATS": Setting("VLLM_NO_USAGE_STATS", "1", _TEAPOT)}
    if placement.offline:
        variables["HF_HUB_OFFLINE"] = Setting("HF_HUB_OFFLINE", "1", f"{_TEAPOT}: all files are local")
    space, rest = divmod(context.kv_cache_bytes or 0, 1024**3)
    if context.device == "cpu" and space and not rest:
        # The variable wins over the flag, so one inherited from a shell would silently resize the cache.
        source = _source(document, ("engine", "kv_cache_memory"))
        variables["VLLM_CPU_KVCACHE_SPACE"] = Setting("VLLM_CPU_KVCACHE_SPACE", str(space), source)
    for name, value in placement.environment.items():
        variables[name] = Setting(name, value, _TEAPOT)
    for index, mode in enumerate(deployment.modes):
        for name, value in mode.environment(context).items():
            variables[name] = Setting(name, value, _source(document, ("modes", index)))
    return tuple(variables.values())


def _joined(given: _Given) -> list[str]:
    """A word that begins with a dash must be tied to its flag, or it is taken for another."""
    if len(given.words) == 1 and given.words[0].startswith("-"):
        return [f"{given.flag}={given.words[0]}"]
    return [given.flag, *given.words]
