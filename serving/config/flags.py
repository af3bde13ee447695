"""A deployment becomes an engine's command: argv and environment, each value with where it came from.

Owns: which section becomes which flag, and teapot's own defaults. Knows nothing about processes,
folders or devices: where things lie comes in as a `Placement`.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from serving.config.arguments import argument_flags
from serving.config.document import Document, KeyPath
from serving.config.layout import default_kv_cache_bytes
from serving.config.schema import Deployment
from serving.config.variables import TEAPOT, dropped, engine_variables
from serving.facts.load import histogram_buckets
from serving.modes.mode import Device, EngineContext, EngineSlot, MachineFacts, ModelFacts, Setting

SERVER_MODULE = "vllm.entrypoints.openai.api_server"
LOOPBACK = "127.0.0.1"
QUICK_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2)
"""vLLM's bounds of queue times begin at 0.3 s: a mean of 51 us would be told with a p99 of 297 ms."""
SHUTDOWN_MARGIN_S = 10
"""SIGTERM with requests in flight hangs vLLM 0.32 where its time-out is shorter than they are."""


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
    also_named: tuple[str, ...] = ()
    """What they may say too."""
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
    unset: tuple[str, ...] = ()
    """Variables of the parent that the engine must not get."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A flag with the words after it, before it is joined into argv."""

    flag: str
    words: tuple[str, ...]
    source: str


def engine_context(
    deployment: Deployment,
    *,
    device: Device,
    version: str,
    model: ModelFacts | None,
    machine: MachineFacts | None = None,
) -> EngineContext:
    """What the modes of a deployment need to know, with the KV cache that teapot gives by default.

    What only a caller can know (draft, inherited variables, paths) is put in with `dataclasses.replace`, and
    `engine_contexts` makes one for each engine of it.
    """
    engine = deployment.engine
    default = default_kv_cache_bytes(deployment, machine) if device == "cpu" else None
    return EngineContext(
        device=device,
        version=version,
        model=model,
        kv_cache_bytes=engine.kv_cache_memory or default,
        max_model_len=engine.max_model_len or (model.max_position if model else None),
        kinds=frozenset(mode.kind for mode in deployment.modes),
        machine=machine,
        gpu_memory_utilization=engine.gpu_memory_utilization,
        args={flag: " ".join(words) or None for _, flag, words in argument_flags(engine.args)},
    )


def engine_contexts(shared: EngineContext, slots: Sequence[EngineSlot]) -> tuple[EngineContext, ...]:
    """The context of each engine: its own slot, and the other engines as its peers."""
    each = [replace(shared, slot=slot) for slot in slots]
    peers = [tuple(other for other in each if other is not one) for one in each]
    return tuple(replace(one, peers=others) for one, others in zip(each, peers, strict=True))


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
    variables = engine_variables(
        deployment, document, context, placement.environment, offline=placement.offline
    )
    argv = [placement.python, "-m", SERVER_MODULE]
    for item in given:
        argv += joined(item.flag, item.words)
    flags = [
        Setting(item.flag, shlex.join(item.words) if item.words else None, item.source) for item in given
    ]
    environment = {setting.name: str(setting.value) for setting in variables}
    return EngineCommand(tuple(argv), environment, (*flags, *variables), dropped(variables))


def _source(document: Document, path: KeyPath) -> str:
    return document.source(path) or "default"


def _own(deployment: Deployment, document: Document, placement: Placement) -> Iterator[_Given]:
    model = _source(document, ("model",))
    yield _Given("--model", (placement.model_path,), model)
    names = dict.fromkeys((placement.model_name, *placement.also_named))
    yield _Given("--served-model-name", tuple(names), model)
    yield _Given("--host", (LOOPBACK,), TEAPOT)
    yield _Given("--port", ("<a free port>" if placement.port is None else str(placement.port),), TEAPOT)
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
    yield _Given("--enable-prompt-tokens-details", (), TEAPOT)
    objectives = {"time_to_first_token": deployment.slo.ttft, "inter_token_latency": deployment.slo.tpot}
    objectives["request_latency"] = deployment.slo.e2e
    buckets, source = {}, TEAPOT
    for family, objective in objectives.items():
        known = {*histogram_buckets()[family], *(QUICK_S if family == "request_latency" else ())}
        if objective and objective not in known:
            known.add(objective)
            source = _source(document, ("slo",))
        if known != {*histogram_buckets()[family]}:
            buckets[family] = sorted(known)
    value = json.dumps(buckets, separators=(",", ":"))
    yield _Given("--custom-histogram-buckets", (value,), source)


def _modes(deployment: Deployment, document: Document, context: EngineContext) -> Iterator[_Given]:
    for index, mode in enumerate(deployment.modes):
        source = _source(document, ("modes", index))
        for flag, value in mode.flags(context):
            yield _Given(flag, _words(value), source)


def _words(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """What follows a mode's flag: nothing, one word, or several."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _arguments(deployment: Deployment, document: Document) -> Iterator[_Given]:
    for key, flag, words in argument_flags(deployment.engine.args):
        yield _Given(flag, words, _source(document, ("engine", "args", key)))


def joined(flag: str, words: Sequence[str]) -> list[str]:
    """A flag as a command has it: a word that begins with a dash is tied to it, or is taken for another."""
    if len(words) == 1 and words[0].startswith("-"):
        return [f"{flag}={words[0]}"]
    return [flag, *words]
