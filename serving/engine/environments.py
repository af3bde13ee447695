"""Engine environments on disk: which there are, whole ones only.

Owns: the folder of an environment, the record that its install writes last, and finding one.
Knows nothing about how one is made (`serving.engine.install`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.engine.folders import DataFolder
from serving.modes.mode import Device

RECORD = "teapot-environment.json"
"""Written last, in one rename: a folder without it is an interrupted install."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A whole engine environment."""

    path: Path
    device: Device
    version: str
    record: Mapping[str, Any]
    """What the install wrote down: versions, date, Python, bytes on disk."""

    @property
    def name(self) -> str:
        """The folder's name, such as `vllm-0.32.0-cpu-py311`."""
        return self.path.name

    @property
    def python(self) -> Path:
        """The environment's Python, which starts engines."""
        return python_of(self.path)


def python_of(path: Path) -> Path:
    """The Python of the environment at `path`."""
    return path / "bin" / "python"


def read_environment(path: Path) -> Environment | None:
    """The environment at `path`; None unless it is whole and its Python still runs on this machine."""
    try:
        record = json.loads((path / RECORD).read_text())
        found = Environment(path, record["device"], record["version"], record)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if os.access(found.python, os.X_OK) else None


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Declare the environment at `path` whole."""
    draft = path / (RECORD + ".draft")
    with draft.open("w") as file:
        json.dump(record, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path / RECORD)


def installed(folder: DataFolder) -> list[Environment]:
    """All whole environments, by name."""
    if not folder.environments.is_dir():
        return []
    found = (read_environment(path) for path in sorted(folder.environments.iterdir()))
    return [environment for environment in found if environment]
