"""Everything that is decided before an engine is started: file, environment, models, machine, commands.

Owns: the order of these steps, each of which fails with words before anything is paid for. Knows nothing
about running engines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from deploy.compiling import compilable
from serving.config.document import Document
from serving.config.flags import EngineCommand, Placement, engine_command, engine_context, engine_contexts
from serving.config.layout import engine_slots
from serving.config.load import load_deployment
from serving.config.schema import Deployment
from serving.config.startup import check_startable
from serving.console import Console
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
from serving.engine.machine import cpp_compiler, read_machine
from serving.engine.models import LocalModel, ModelPlace, resolve_model
from serving.engine.ports import free_port
from serving.engine.process import EngineSpec
from serving.engine.recipes import choose_recipe
from serving.engine.supervisor import start_together
from serving.engine.weights import weight_bytes
from serving.modes.lora import Lora
from serving.modes.mode import EngineContext
from serving.modes.model_facts import model_facts
from serving.modes.speculative import Speculative


@dataclass(frozen=True, slots=True)
class PreparedEngine:
    """One engine that could be started: its place, its command, its process."""

    context: EngineContext
    command: EngineCommand
    spec: EngineSpec


@dataclass(frozen=True, slots=True)
class Prepared:
    """A deployment that could be started: what runs where, as which model, with which commands."""

    deployment: Deployment
    environment: Environment
    model: LocalModel
    engines: tuple[PreparedEngine, ...]
    together: bool = True
    """Memory lets the engines load side by side."""

    @property
    def context(self) -> EngineContext:
        """What holds for all engines, as the first has it."""
        return self.engines[0].context


def prepare(
    path: str, overrides: Sequence[str], console: Console, *, allow_ineffective: bool = False
) -> Prepared:
    """Read the file, find or make the engine environment and the models, and work out the commands.

    Installs what is missing, with progress. Raises: TeapotError with all that is wrong.
    """
    deployment, document = load_deployment(path, overrides)
    asked = deployment.engine.device
    device = resolve_device(asked, has_nvidia=asked != "cpu" and nvidia_driver_answers())
    recipe = choose_recipe(device, deployment.engine.version, where=document.where(("engine", "version")))
    machine = read_machine(accelerators=device != "cpu")
    context = engine_context(deployment, device=device, version=recipe.version, model=None, machine=machine)
    context = replace(context, inherited=dict(os.environ))
    slots = engine_slots(deployment, machine, device=device, ports=[free_port() for _ in range(_most(deployment))])
    # Once without the model, so that a file that cannot work does not first pay for an install.
    check_startable(
        deployment, document, *engine_contexts(context, slots), allow_ineffective=allow_ineffective
    )
    folder = data_folder(os.environ, Path.home()).make()
    place = ModelPlace(
        python=ensure_environment(recipe, folder, console).python,
        folder=folder,
        console=console,
        environment=folder.engine_environment(os.environ, Path.home()),
        relative_to=Path(path).parent,
    )
    model = resolve_model(deployment.model, place)
    context = _with_models(context, deployment, model, place)
    contexts = engine_contexts(context, slots)
    notes = check_startable(deployment, document, *contexts, allow_ineffective=allow_ineffective)
    for note in notes:
        console.say(f"note: {note}")
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    engines = tuple(_engine(deployment, document, model, place, each, stamp) for each in contexts)
    if engines[0].command.settings != 
    together = start_together(
        len(engines),
        weight_bytes=weight_bytes(Path(model.path_or_id)),
        kv_bytes=context.kv_cache_bytes or 0,
        available_bytes=machine.memory_available_bytes,
    )
    return Prepared(deployment, environment, model, engines, together)
