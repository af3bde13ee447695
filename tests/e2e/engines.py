"""The engines of a deployment without the rest of the stack, for tests of their modes."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from serving.config.document import Document
from serving.config.flags import Placement, engine_command, engine_context, engine_contexts
from serving.config.layout import engine_slots
from serving.config.load import load_deployment
from serving.config.schema import Deployment
from serving.config.startup import check_startable
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder
from serving.engine.logs import LogTail
from serving.engine.machine import read_machine
from serving.engine.ports import free_port
from serving.engine.process import EngineProcess, EngineSpec
from serving.engine.readiness import start_engine
from serving.engine.weights import read_config
from serving.errors import Problem
from serving.modes.mode import EngineContext, ModelFacts
from serving.modes.model_facts import model_facts
from serving.modes.speculative import Speculative

START_WITHIN_S = 900.0
STOP_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be started: a deployment's engines on a model folder."""

    deployment: Deployment
    document: Document
    contexts: tuple[EngineContext, ...]
    environment: Environment
    folder: DataFolder
    model: Path
    logs: Path

    def check(self, *, allow_ineffective: bool = False) -> list[Problem]:
        """Refuse as `teapot serve` does, and return the warnings. Raises: Failed with all problems."""
        return check_startable(
            self.deployment, self.document, *self.contexts, allow_ineffective=allow_ineffective
        )

    def spec(self, number: int) -> EngineSpec:
        """The command of one engine, on a free port."""
        port = free_port()
        context = self.contexts[number]
        placement = Placement(
            python=str(self.environment.python),
            port=port,
            model_path=str(self.model),
            model_name=self.model.name,
            environment=self.folder.engine_environment(os.environ, Path.home()),
        )
        command = engine_command(self.deployment, self.document, placement, context)
        log = self.logs / f"{context.slot.name}.log"
        return EngineSpec(context.slot.name, command.argv, log, port, command.environment)


@dataclass(frozen=True, slots=True)
class Running:
    """One engine that has generated its first token."""

    process: EngineProcess
    log: LogTail
    context: EngineContext
    started_s: float


def plan(
    folder: DataFolder,
    environment: Environment,
    model: Path,
    modes: Sequence[Mapping[str, Any]],
    logs: Path,
    **engine: Any,
) -> Plan:
    """Work a small eager deployment out as far as it goes without starting anything."""
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / "deployment.yaml"
    section = {
        "device": "cpu", "max_model_len": 2048, "max_num_seqs": 16, "kv_cache_memory": "1GiB",
        "args": {"enforce-eager": True},
    }  # fmt: skip
    path.write_text(
        yaml.safe_dump(
            {"name": "modes", "model": str(model), "engine": section | engine, "modes": list(modes)}
        )
    )
    deployment, document = load_deployment(str(path), [])
    machine = read_machine(accelerators=False)
    config = read_config(model)
    assert isinstance(config, Mapping)
    shared = replace(
        engine_context(
            deployment,
            device="cpu",
            version=environment.version,
            model=model_facts(model.name, config),
            machine=machine,
        ),
        draft=next(_drafts(deployment), None),
    )
    slots = engine_slots(deployment, machine, device="cpu")
    contexts = engine_contexts(shared, slots)
    return Plan(deployment, document, contexts, environment, folder, model, logs)


def _drafts(deployment: Deployment) -> Iterator[ModelFacts]:
    for mode in deployment.modes:
        if isinstance(mode, Speculative) and mode.model:
            config = read_config(Path(mode.model))
            assert isinstance(config, Mapping)
            yield model_facts(Path(mode.model).name, config)


@asynccontextmanager
async def running(what: Plan) -> AsyncIterator[list[Running]]:
    """Start all engines of a plan, one after the other; whatever happens, nothing of them is left."""
    async with AsyncExitStack() as ends:
        engines = []
        for number, context in enumerate(what.contexts):
            process = EngineProcess(what.spec(number))
            began = time.monotonic()
            ends.push_async_callback(process.stop, within_s=STOP_WITHIN_S)
            log = await start_engine(process, START_WITHIN_S, lambda stage, at_s: None)
            engines.append(Running(process, log, context, time.monotonic() - began))
        yield engines
