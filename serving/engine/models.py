"""What a deployment's `model:` means on this machine: the embedded model, a folder, or a hub id.

Owns: telling the three apart, and what is said when there is no such model. Knows nothing about
what a config.json says (`serving.modes.model_facts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.console import Console
from serving.engine.commands import Runner, run
from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.folders import DataFolder
from serving.engine.weights import folder_problems, read_config
from serving.errors import Failed, Problem, TeapotError, UsageError

FETCHER = Path(__file__).parent / "scripts" / "fetch_config.py"
_HUB_ID = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model as an engine is to be given it."""

    name: str
    """What it is called by clients: the embedded name, the folder's name, or the hub id."""
    path_or_id: str
    """For vLLM's --model."""
    config: Mapping[str, Any]
    """Its config.json."""
    offline: bool
    """All is on this machine: the engine need not ask a hub."""


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where models are found and made."""

    python: Path
    """An engine environment's, which has transformers and huggingface_hub."""
    folder: DataFolder
    console: Console
    environment: Mapping[str, str]
    """The engine's caches (`DataFolder.engine_environment`), so that the hub's files lie where it looks."""
    relative_to: Path
    """Relative folders start here."""
    runner: Runner = run


def resolve_model(model: str, place: ModelPlace) -> LocalModel:
    """Find the model, making the embedded one if needed.

    Raises: UsageError where there is no such model or its folder is broken, Failed where it cannot be got.
    """
    if model in EMBEDDED:
        path = ensure_embedded(EMBEDDED[model], place.python, place.folder, place.console, place.runner)
        return _from_folder(model, path)
    path = (place.relative_to / Path(model).expanduser()).resolve()
    if path.is_dir():
        return _from_folder(path.name, path)
    if _HUB_ID.fullmatch(model):
        return _from_hub(model, place)
    raise UsageError(
        f"no model '{model}': no such folder ({path})",
        where="model",
        fix=f"give {' or '.join(EMBEDDED)}, a folder with config.json, or a hub id such as organisation/name",
    )


def _from_folder(name: str, path: Path) -> LocalModel:
    config = read_config(path)
    if isinstance(config, Problem):
        raise UsageError.of([config])
    if problems := folder_problems(path):
        raise UsageError.of(problems)
    return LocalModel(name, str(path), config, offline=True)


def _from_hub(model: str, place: ModelPlace) -> LocalModel:
    place.console.say(f"looking for {model} in the hub's cache and on the hub")
    ran = place.runner([str(place.python), str(FETCHER), model], environment=place.environment)
    answer = _last_json(ran.lines)
    if "path" in answer:
        config = read_config(Path(answer["path"]).parent)
        if isinstance(config, Problem):
            raise UsageError.of([config])
        return LocalModel(model, model, config, offline=bool(answer.get("offline")))
    said = answer.get("message") or (ran.lines[-1] if ran.lines else "nothing was answered")
    raise _hub_error(model, str(answer.get("error", "other")), str(said))


def _last_json(lines: Sequence[str]) -> dict[str, Any]:
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def _hub_error(model: str, kind: str, said: str) -> TeapotError:
    embedded = " or ".join(EMBEDDED)
    if kind == "unknown":
        return UsageError(
            f"the hub has no model '{model}' (or not for you)",
            where="model",
            fix="check the spelling (or the folder, if one was meant); for a private model set HF_TOKEN",
        )
    if kind == "gated":
        return Failed(
            f"'{model}' is given only to who accepted its terms",
            where="model",
            fix="accept them on the hub and set HF_TOKEN",
        )
    if kind == "no_config":
        return UsageError(
            f"'{model}' has no config.json", where="model", fix="give one in transformers' format"
        )
    if kind == "unreachable":
        return Failed(
            f"'{model}' is neither a folder nor in the hub's cache, and the hub cannot be reached",
            where="model",
            fix=f"connect this machine, set HF_ENDPOINT to a mirror, give a local folder, or use {embedded}",
        )
    return Failed(
        f"'{model}' cannot be looked up: {said}", where="model", fix=f"give a local folder, or {embedded}"
    )
