"""The real world of a study: engines behind a gateway and loads over HTTP, as `serve` and `load` have them.

Owns: how a `Stack` and a load run are what a study asks for. Knows nothing about the order of things.
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.prepared import Prepared, prepare_loaded
from deploy.stack import Stack
from deploy.study.quality import measure
from deploy.study.reading import ArmRead
from deploy.study.rows import ShownMode
from deploy.study.world import Up
from loadgen.run import run_load
from loadgen.workload import Workload
from serving.console import Console
from serving.engine.logs import end_of_log
from serving.engine.observe import cache_config
from serving.modes.mode import Verdict
from serving.planner.check import loaded_bytes

TAIL_LINES = 40


class _Said(io.StringIO):
    """A stream whose lines are handed on."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                self._say(line)
        return len(text)


def _console(say: Callable[[str], None]) -> Console:
    return Console(as_json=False, out=_Said(say), err=_Said(say))


@dataclass(slots=True)
class RealWorld:
    """Engines and loads of this machine."""

    beside: Path
    """The folder of the study file."""
    detail: Callable[[str], None] = lambda line: None
    """Told what `teapot serve` and `teapot load` would say."""
    _logs: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    @asynccontextmanager
    async def up(self, arm: ArmRead) -> AsyncIterator[Up]:
        """Bring an arm up with its modes proven, and down at the end. Raises: TeapotError."""
        console = _console(self.detail)
        prepared = await asyncio.to_thread(prepare_loaded, arm.deployment, arm.document, self.beside, console)
        self._logs[arm.name] = tuple(engine.spec.log for engine in prepared.engines)
        stack = Stack(prepared, console)
        try:
            await stack.up()
            yield await _up(stack, prepared)
        finally:
            await stack.down()

    async def load(self, up: Up, workload: Workload, out: Path) -> None:
        """Send a workload in a thread: the gateway needs this loop. Raises: TeapotError."""
        stop = threading.Event()
        running = asyncio.create_task(
            asyncio.to_thread(
                run_load,
                workload=workload,
                target=up.url,
                console=_console(self.detail),
                out=out,
                metrics_urls=tuple(f"{url}/metrics" for url in up.engine_urls),
                discovery=up.discovery,
                stopped=stop.is_set,
            )
        )
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.gather(running, return_exceptions=True)
            raise

    async def quality(self, up: Up) -> Mapping[str, Any]:
        """Ask the engine itself: what a gateway adds is not the model's. Raises: TeapotError."""
        url = up.engine_urls[0] if len(up.engine_urls) == 1 else up.url
        return (await measure(url, up.model)).to_json()

    def log_tail(self, arm: ArmRead) -> tuple[str, ...]:
        """The last lines of the engines of an arm; none where it came to no engine."""
        lines = [line for log in self._logs.get(arm.name, ()) for line in end_of_log(log, 0)[-TAIL_LINES:]]
        return tuple(lines)


async def _up(stack: Stack, prepared: Prepared) -> Up:
    labels = await cache_config(stack.engine_urls[0])
    logs = tuple(engine.spec.log for engine in prepared.engines)
    return Up(
        url=stack.gateway.public_url,
        engine_urls=stack.engine_urls,
        model=prepared.model.name,
        verdicts=tuple(map(shown, stack.verdicts)),
        cache_config=labels,
        weights_bytes=_loaded(logs),
        kv_cache_tokens=_whole(labels.get("kv_cache_size_tokens")),
        kv_cache_bytes=_whole(labels.get("kv_cache_memory_bytes")),
        logs=tuple(map(str, logs)),
        ended=stack.ended,
        ready=lambda: bool(stack.supervisor.serving()),
        discovery=prepared.prometheus.files.load,
    )


def shown(verdict: Verdict) -> ShownMode:
    """A verdict as it is kept."""
    return ShownMode(
        kind=verdict.kind,
        asked=verdict.asked,
        in_effect=verdict.in_effect,
        evidence=verdict.evidence,
        warnings=tuple(verdict.warnings),
    )


def _loaded(logs: tuple[Path, ...]) -> int | None:
    """What loading took, by all engines' own words; None where one does not say."""
    each = [loaded_bytes(end_of_log(log, 0)) for log in logs]
    known = [found for found in each if found is not None]
    return round(sum(known)) if len(known) == len(each) else None


def _whole(text: str | None) -> int | None:
    try:
        return round(float(text)) if text else None
    except ValueError:
        return None
