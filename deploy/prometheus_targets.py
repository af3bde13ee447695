"""The files by which a running Prometheus learns what to scrape.

Owns: writing them, whole or not at all, when engines come, go or move. Knows nothing about Prometheus'
process or about what engines do: their states come in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from deploy.scrape_config import EngineTarget, StateFiles, engine_groups, gateway_groups
from serving.engine.states import EngineState

_ANSWERS = frozenset({EngineState.PROVING, EngineState.READY})
_LEFT = frozenset({EngineState.STOPPED})


class TargetFiles:
    """The target files of one deployment. A disk that refuses is said once, and costs nothing else."""

    def __init__(self, deployment: str, files: StateFiles, say: Callable[[str], None]) -> None:
        self._deployment = deployment
        self._files = files
        self._say = say
        self._engines: dict[str, EngineTarget] = {}
        self._told = False

    def begin(self, admin_url: str) -> None:
        """Name the gateway, and no engine yet. Raises: OSError."""
        self._files.load.mkdir(parents=True, exist_ok=True)
        replace(self._files.targets("gateway"), gateway_groups(self._deployment, admin_url))
        replace(self._files.targets("engine"), engine_groups(self._deployment, ()))

    def see(self, name: str, engine: EngineTarget, state: EngineState) -> None:
        """Take note of an engine: it is scraped from its first token until it is stopped.

        One that crashed stays, so that it shows as down; one that was never up is not missed yet.
        """
        engines = dict(self._engines)
        if state in _LEFT:
            engines.pop(name, None)
        elif state in _ANSWERS or name in engines:
            engines[name] = engine
        if engines == self._engines:
            return
        self._engines = engines
        try:
            replace(self._files.targets("engine"), engine_groups(self._deployment, engines.values()))
        except OSError as error:
            if not self._told:
                self._told = True
                self._say(f"Prometheus cannot be told of engines: {error}")


def replace(path: Path, text: str) -> None:
    """Put a text where a reader finds the old one or the new one, never a part. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A dot and no .json at its end: no pattern of Prometheus' takes it for a target file.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
