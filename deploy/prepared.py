"""Everything that is decided before an engine is started: file, environment, model, command.

Owns: the order of these steps, each of which fails with words before anything is paid for. Knows nothing
about running engines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from serving.config.document import Document
from serving.config.flags import EngineCommand, Placement, engine_command, engine_context
from serving.config.load import load_deployment
from serving.config.schema import Deployment
from serving.config.startup import check_startable
from serving.console import Console
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
from serving.engine.models import LocalModel, ModelPlace, resolve_model
from serving.engine.ports import free_port
from serving.engine.process import EngineSpec
from serving.engine.recipes import choose_recipe
from serving.modes.mode import EngineContext
from serving.modes.model_facts import model_facts


@dataclass(frozen=True, slots=True)
class Prepared:
    """A deployment that could be started: what runs where, as which model, with which command."""

    deployment: Deployment
    environment: Environment
    model: LocalModel
    context: EngineContext
    command: EngineCommand
    spec: EngineSpec


def prepare(path: str, overrides: Sequence[str], console: Console) -> Prepared:
    """Read the file, find or make the engine environment and the model, and work out the command.

    Installs what is missing, with progress. Raises: TeapotError with all that is wrong.
    """
    deployment, document = load_deployment(path, overrides)
    asked = deployment.engine.device
    has_nvidia = asked != "cpu" and nvidia_driver_answers()
    device = resolve_device(asked, has_nvidia=has_nvidia)
    recipe = choose_recipe(device, deployment.engine.version, where=document.where(("engine", "version")))
    # Once without the model, so that a file that cannot work does not first pay for an install.
    check_startable(
        deployment, document, engine_context(deployment, device=device, version=recipe.version, model=None)
    )
    folder = data_folder(os.environ, Path.home()).make()
    environment = ensure_environment(recipe, folder, console)
    model = _model(deployment, environment, folder, console, Path(path).parent)
    context = engine_context(
        deployment,
        device=device,
        version=recipe.version,
        model=model_facts(model.name, model.config),
    )
    check_startable(deployment, document, context)
    spec, command = _spec(deployment, document, environment, model, folder, context)
    return Prepared(deployment, environment, model, context, command, spec)


def _model(
    deployment: Deployment, environment: Environment, folder: DataFolder, console: Console, here: Path
) -> LocalModel:
    place = ModelPlace(
        python=environment.python,
        folder=folder,
        console=console,
        environment=folder.engine_environment(os.environ, Path.home()),
        relative_to=here,
    )
    return resolve_model(deployment.model, place)


def _spec(
    deployment: Deployment,
    document: Document,
    environment: Environment,
    model: LocalModel,
    folder: DataFolder,
    context: EngineContext,
) -> tuple[EngineSpec, EngineCommand]:
    port = free_port()
    placement = Placement(
        python=str(environment.python),
        port=port,
        model_path=model.path_or_id,
        model_name=model.name,
        offline=model.offline,
        environment=folder.engine_environment(os.environ, Path.home()),
    )
    command = engine_command(deployment, document, placement, context)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    log = folder.logs / f"{deployment.name}-{stamp}.log"
    return EngineSpec(deployment.name, command.argv, log, port, command.environment), command
