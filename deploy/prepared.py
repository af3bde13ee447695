"""Everything that is decided before an engine is started: file, environment, models, machine, commands.

Owns: the order of these steps, each of which fails with words before anything is paid for. Knows nothing
about running engines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from deploy.compiling import NO_COMPILER, compilable
from deploy.plan_start import plan_start
from deploy.prometheus import Place, here
from serving.config.document import Document
from serving.config.flags import EngineCommand, Placement, engine_command, engine_context, engine_contexts
from serving.config.layout import engine_slots, ranks
from serving.config.load import load_deployment
from serving.config.revisions import require_engines
from serving.config.schema import Deployment
from serving.config.startup import check_startable
from serving.console import Console
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.environments import Environment
from serving.engine.folders import data_folder
from serving.engine.install import ensure_environment
from serving.engine.machine import cpp_compiler, read_machine
from serving.engine.models import LocalModel, ModelPlace, resolve_model
from serving.engine.ports import free_port
from serving.engine.process import EngineSpec
from serving.engine.recipes import recipe_of
from serving.engine.reference import References, model_fingerprint
from serving.engine.supervisor import start_together
from serving.engine.weights import weight_bytes
from serving.errors import Failed, UsageError
from serving.gateway.elsewhere import check_elsewhere
from serving.modes.lora import Lora
from serving.modes.mode import EngineContext, MachineFacts
from serving.modes.model_facts import model_facts
from serving.modes.speculative import Speculative
from serving.planner.fit import Fit


@dataclass(frozen=True, slots=True)
class Among:
    """What other engines these are to run among."""

    revision: str
    """What these are called, where others of the same names run."""
    devices: frozenset[int] = frozenset()
    """Accelerators that the others have."""
    also_named: tuple[str, ...] = ()
    """Names of models that clients use already, to which these engines are to answer too."""


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
    prometheus: Place
    together: bool = True
    """Memory lets the engines load side by side."""
    references: References | None = None
    """Answers to compare those of these engines with."""
    beside: Path = Path()
    """The deployment file's folder, in which the files lie that it names."""
    fit: Fit | None = None
    """The plan of each engine; None: not planned."""
    file: str = ""
    """The deployment file, as an absolute path."""

    @property
    def devices(self) -> frozenset[int]:
        """The accelerators that its engines have; an engine that is given none by number has the first."""
        if self.context.device == "cpu":
            return frozenset()
        first = tuple(range(ranks(self.deployment)))
        return frozenset(one for engine in self.engines for one in engine.context.slot.devices or first)

    @property
    def context(self) -> EngineContext:
        """What holds for all engines, as the first has it."""
        return self.engines[0].context


def prepare(
    path: str,
    overrides: Sequence[str],
    console: Console,
    *,
    allow_ineffective: bool = False,
    plan: bool = True,
    among: Among | None = None,
) -> Prepared:
    """Read the file, find or make the engine environment and the models, and work out the commands.

    Installs what is missing, with progress. `plan`: refuse what cannot fit. Raises: TeapotError with all that
    is wrong.
    """
    deployment, document = load_deployment(path, overrides)
    prepared = prepare_loaded(
        deployment,
        document,
        Path(path).parent,
        console,
        allow_ineffective=allow_ineffective,
        plan=plan,
        among=among,
    )
    return replace(prepared, file=str(Path(path).absolute()))


def prepare_loaded(
    deployment: Deployment,
    document: Document,
    beside: Path,
    console: Console,
    *,
    allow_ineffective: bool = False,
    plan: bool = True,
    among: Among | None = None,
) -> Prepared:
    """The same for a deployment that was read, or put together, before; `beside` is the folder of its files.

    Raises: TeapotError with all that is wrong.
    """
    require_engines(deployment, document, "start")
    check_elsewhere(deployment, document, beside, os.environ)
    asked = deployment.engine.device
    device = resolve_device(asked, has_nvidia=asked != "cpu" and nvidia_driver_answers())
    recipe = recipe_of(deployment, document, device)
    machine = read_machine(accelerators=device != "cpu")
    slots = engine_slots(deployment, machine, device=device)
    free = None if among is None else free_devices(machine, among.devices, len(slots) * ranks(deployment))
    ports = [free_port() for _ in slots]
    slots = engine_slots(deployment, machine, device=device, ports=ports, free=free)
    shared = engine_context(deployment, device=device, version=recipe.version, model=None, machine=machine)
    shared = replace(shared, inherited=dict(os.environ))
    # Once without the model, so that a file that cannot work does not first pay for an install.
    check_startable(
        deployment, document, *engine_contexts(shared, slots), allow_ineffective=allow_ineffective
    )
    folder = data_folder(os.environ, Path.home()).make()
    environment = ensure_environment(recipe, folder, console)
    place = ModelPlace(
        python=environment.python,
        folder=folder,
        console=console,
        environment={**folder.engine_environment(os.environ, Path.home()), **recipe.environment},
        relative_to=beside,
    )
    model = resolve_model(deployment.model, place)
    shared = _with_models(shared, deployment, document, model, place)
    contexts = engine_contexts(shared, slots)
    for note in check_startable(deployment, document, *contexts, allow_ineffective=allow_ineffective):
        console.say(f"note: {note}")
    fit = plan_start(deployment, document, model, shared, console) if plan else None
    if fit is not None:
        contexts = engine_contexts(replace(shared, kv_block=fit.kv_block), slots)
    launch = _Launch(deployment, document, model, place, datetime.now(UTC).strftime("%Y%m%d-%H%M%S"), among)
    engines = tuple(launch.engine(context) for context in contexts)
    if any(setting.source == NO_COMPILER for setting in engines[0].command.settings):
        console.say("note: no C++ compiler was found, so engines run without torch.compile (slower)")
    together = start_together(
        len(engines),
        weight_bytes=weight_bytes(Path(model.path_or_id)),
        kv_bytes=shared.kv_cache_bytes or 0,
        available_bytes=machine.memory_available_bytes,
    )
    answers = References(folder.state / "answers", model_fingerprint(model.path_or_id, model.config))
    recording = here(deployment, folder, launch.stamp)
    return Prepared(deployment, environment, model, engines, recording, together, answers, beside, fit)


@dataclass(frozen=True, slots=True)
class _Launch:
    """What the commands of all engines of one start share."""

    deployment: Deployment
    document: Document
    model: LocalModel
    place: ModelPlace
    stamp: str
    among: Among | None

    def engine(self, context: EngineContext) -> PreparedEngine:
        """The command and the process of one engine, on a port that is free now."""
        port = free_port()
        placement = Placement(
            python=str(self.place.python),
            port=port,
            model_path=self.model.path_or_id,
            model_name=self.model.name,
            offline=self.model.offline,
            environment=self.place.environment,
            also_named=self.among.also_named if self.among else (),
        )
        command = engine_command(self.deployment, self.document, placement, context)
        environ = {**os.environ, **command.environment}
        command = compilable(command, context.device, cpp_compiler(environ), environ)
        name = context.slot.name
        revision = f"-{self.among.revision}" if self.among else ""
        log = self.place.folder.logs / f"{name}-{self.stamp}{revision}.log"
        spec = EngineSpec(name, command.argv, log, port, command.environment, command.unset)
        return PreparedEngine(context, command, spec)


def share_cores(one: Prepared, others: Iterable[Prepared]) -> bool:
    """Whether engines on CPU compete for cores; one that is given none has them all."""
    if one.context.device != "cpu":
        return False
    mine = [frozenset(engine.context.slot.cores) for engine in one.engines]
    theirs = [frozenset(engine.context.slot.cores) for other in others for engine in other.engines]
    return any(not a or not b or a & b for a in mine for b in theirs)


def free_devices(machine: MachineFacts, taken: frozenset[int], needed: int) -> tuple[int, ...] | None:
    """The accelerators that others leave; None where nobody has one. Not run on a GPU.

    Raises: Failed where they are too few.
    """
    if not taken:
        return None
    free = tuple(one for one in range(len(machine.accelerators)) if one not in taken)
    if len(free) < needed:
        there = len(machine.accelerators)
        raise Failed(
            f"its engines need {needed} devices, and {len(free)} of {there} are free beside those that run",
            fix="roll it out with strategy: replace, which ends the old engines first",
        )
    return free


def adapter_folders(places: Iterable[str], beside: Path, where: str) -> dict[str, str]:
    """The folders among adapters' places; what has the form of a hub id is left to vLLM.

    Raises: UsageError for a folder that is not there or is no adapter's, so that no start is paid for it.
    """
    found = {}
    for word in places:
        path = (beside / Path(word).expanduser()).resolve()
        if path.is_dir() and not (path / "adapter_config.json").is_file():
            fix = "give the folder that the adapter was saved to"
            raise UsageError(f"there is no adapter_config.json in {path}", where=where, fix=fix)
        if path.is_dir():
            found[word] = str(path)
        elif not re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", word):
            fix = "give a folder, or a hub id such as organisation/name"
            raise UsageError(f"no adapter '{word}': no such folder ({path})", where=where, fix=fix)
    return found


def _with_models(
    shared: EngineContext, deployment: Deployment, document: Document, model: LocalModel, place: ModelPlace
) -> EngineContext:
    """The context with what is known of the model, its draft, and where drafts and adapters lie."""
    paths: dict[str, str] = {}
    draft = None
    facts = model_facts(model.name, model.config)
    for index, mode in enumerate(deployment.modes):
        if isinstance(mode, Speculative) and mode.model is not None:
            found = resolve_model(mode.model, place)
            paths[mode.model] = found.path_or_id
            # A head trained for its model (eagle ...) has a config.json of its own kind.
            draft = model_facts(found.name, found.config) if mode.method == "draft_model" else None
        if isinstance(mode, Lora):
            where = document.where(("modes", index, "adapters"))
            paths |= adapter_folders(mode.adapters.values(), place.relative_to, where)
    longest = shared.max_model_len or facts.max_position
    return replace(shared, model=facts, draft=draft, paths=paths, max_model_len=longest)
