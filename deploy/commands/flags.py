"""`teapot flags FILE`: the argv and environment of every engine, and where each value came from.

Owns: showing an engine command before anything is installed or started; what is not there yet is
shown as a placeholder in angle brackets. Knows nothing about what a flag means.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deploy.compiling import compilable
from serving.config.flags import (
    EngineCommand,
    Placement,
    engine_command,
    engine_context,
    engine_contexts,
)
from serving.config.layout import engine_slots
from serving.config.load import load_deployment
from serving.config.revisions import own_revision
from serving.config.schema import Deployment
from serving.config.startup import StartupProblem, startup_problems
from serving.config.variables import DROPPED, TEAPOT
from serving.console import Console
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.environments import installed
from serving.engine.folders import data_folder
from serving.engine.machine import cpp_compiler, read_machine
from serving.engine.recipes import Recipe, recipe_of
from serving.errors import EXIT_OK, UsageError
from serving.facts.load import model_configs
from serving.modes.lora import Lora
from serving.modes.mode import EngineContext, MachineFacts, Setting
from serving.modes.model_facts import model_facts
from serving.modes.speculative import Speculative

_SECRET = re.compile(r"(token|key|secret|password)$", re.IGNORECASE)
_HIDDEN = "(hidden)"
_SAID = {"error": "cannot start", "ineffective": "would do nothing", "warning": "warning"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the file, overrides and the device to answer for."""
    parser.add_argument("file", metavar="FILE", help="a deployment file")
    parser.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="a value in place of the file's, such as modes[0].format=fp8_e5m2; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--device", choices=("cpu", "cuda", "rocm"), help="answer for this device (default: the file's)"
    )


def run(args: argparse.Namespace, console: Console, read: Callable[..., MachineFacts] = read_machine) -> int:
    """Show the command of each engine; what would keep it from starting is said on stderr."""
    deployment, document = load_deployment(args.file, args.overrides)
    if own_revision(deployment) is None:
        console.document(_document((), ()))
        console.result("no engines: every revision of this file is served elsewhere")
        return EXIT_OK
    asked = args.device or deployment.engine.device
    device = resolve_device(asked, has_nvidia=asked == "auto" and nvidia_driver_answers(), force=True)
    recipe = recipe_of(deployment, document, device)
    here = Path(args.file).parent
    name, path, config = _model(deployment.model, here)
    facts = model_facts(name, config) if config is not None else None
    seen = read(accelerators=device != "cpu")
    # Without a GPU here, the answer is for another machine.
    machine = seen if device == "cpu" or seen.accelerators else None
    shared = engine_context(deployment, device=device, version=recipe.version, model=facts, machine=machine)
    shared = _with_drafts(replace(shared, inherited=dict(os.environ)), deployment, here)
    contexts = engine_contexts(shared, engine_slots(deployment, machine, device=device))
    placement = Placement(
        python=_python(recipe),
        port=None,
        model_path=path,
        model_name=name,
        offline=config is not None,
        environment={
            **data_folder(os.environ, Path.home()).engine_environment(os.environ, Path.home()),
            **recipe.environment,
        },
    )
    engines = []
    for context in contexts:
        command = engine_command(deployment, document, placement, context)
        command = compilable(command, device, cpp_compiler(os.environ), os.environ)
        engines.append((context.slot.name, _without_secrets(command)))
    problems = startup_problems(deployment, document, *contexts)
    console.document(_document(engines, problems))
    console.result("\n\n".join(render(name, command, os.environ) for name, command in engines))
    for found in problems:
        console.say(f"{_SAID[found.severity]}: {found.problem}")
    return EXIT_OK


def render(name: str, command: EngineCommand, inherited: Mapping[str, str]) -> str:
    """The command to copy, the table of sources, and what becomes of the variables of this shell."""
    unset = [word for gone in command.unset if gone in inherited for word in ("-u", gone)]
    variables = [f"{key}={shlex.quote(value)}" for key, value in command.environment.items()]
    words = [*(("env", *unset) if unset else ()), *variables, *map(shlex.quote, command.argv[:3])]
    lines = [f"engine {name}", " \\\n".join(["  " + " ".join(words), *_flag_lines(command.settings)]), ""]
    width = max(len(setting.name) for setting in command.settings)
    for setting in command.settings:
        value = "" if setting.value is None else setting.value
        shown = value if len(value) <= 30 else f"{value[:27]}..."
        lines.append(f"  {setting.name:<{width}}  {shown:<30}  {setting.source}{_over(setting, inherited)}")
    for gone in command.unset:
        if gone in inherited:
            lines.append(f"  {gone:<{width}}  {'(removed)':<30}  {TEAPOT}: {DROPPED[gone]}")
    return "\n".join(line.rstrip() for line in lines)


def _without_secrets(command: EngineCommand) -> EngineCommand:
    """What is shown may be pasted anywhere."""
    hidden = {s.value for s in command.settings if s.value and _SECRET.search(s.name)}
    return replace(
        command,
        argv=tuple(_HIDDEN if word in hidden else word for word in command.argv),
        environment={k: _HIDDEN if v in hidden else v for k, v in command.environment.items()},
        settings=tuple(s._replace(value=_HIDDEN) if s.value in hidden else s for s in command.settings),
    )


def _over(setting: Setting, inherited: Mapping[str, str]) -> str:
    before = inherited.get(setting.name)
    if before is None or before == setting.value or setting.value == _HIDDEN:
        return ""
    return f", in place of this shell's {before}"


def _flag_lines(settings: tuple[Setting, ...]) -> list[str]:
    flags = [setting for setting in settings if setting.name.startswith("--")]
    return [f"    {flag.name}{'' if flag.value is None else f' {flag.value}'}" for flag in flags]


def _document(
    engines: Sequence[tuple[str, EngineCommand]], problems: Sequence[StartupProblem]
) -> dict[str, Any]:
    return {
        "engines": [
            {
                "name": name,
                "argv": command.argv,
                "environment": command.environment,
                "unset": command.unset,
                "settings": [
                    {"name": s.name, "value": s.value, "source": s.source} for s in command.settings
                ],
            }
            for name, command in engines
        ],
        "problems": [
            {"severity": found.severity, "problem": str(found.problem), "source": found.source}
            for found in problems
        ],
    }


def _python(recipe: Recipe) -> str:
    """The installed engine environment's Python, or what stands for it."""
    folder = data_folder(os.environ, Path.home())
    for environment in installed(folder):
        if (environment.device, environment.version) == (recipe.device, recipe.version):
            return str(environment.python)
    return f"<python of vllm {recipe.version} for {recipe.device}>"


def _model(model: str, here: Path) -> tuple[str, str, Mapping[str, Any] | None]:
    """Name, path and config of a model as far as this machine knows them without asking anyone.

    A relative folder starts at the deployment file's own (`here`).
    """
    known = model_configs().get(model)
    if known is not None:
        # A hub's id stands for itself; the embedded model will have a folder.
        return model, model if "/" in model else f"<folder of {model}>", known
    folder = here / Path(model).expanduser()
    config = folder / "config.json"
    if not config.is_file():
        return model, model, None
    try:
        return folder.resolve().name, str(folder.resolve()), json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(
            f"is not JSON: {error}", where=str(config), fix="fetch the model's files again"
        ) from None


def _with_drafts(shared: EngineContext, deployment: Deployment, here: Path) -> EngineContext:
    """The context with the folders of drafts and adapters, as far as this machine knows them."""
    paths: dict[str, str] = {}
    draft = None
    for mode in deployment.modes:
        if isinstance(mode, Speculative) and mode.model is not None:
            name, paths[mode.model], config = _model(mode.model, here)
            draft = model_facts(name, config) if config and mode.method == "draft_model" else None
        if isinstance(mode, Lora):
            folders = {word: here / Path(word).expanduser() for word in mode.adapters.values()}
            paths |= {word: str(folder.resolve()) for word, folder in folders.items() if folder.is_dir()}
    return replace(shared, paths=paths, draft=draft)
