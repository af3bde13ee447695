"""What a study needs of the world: a deployment that comes up and goes down, loads that are sent, a clock.

Owns: the types by which the runner asks for them, so that tests (and whoever else runs a study) hand in
scripted ones. Knows nothing about engines (`real`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from deploy.study.reading import ArmRead
from deploy.study.rows import ShownMode
from loadgen.workload import Workload
from serving.errors import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A deployment that serves, with what it told of itself. What it does not tell is None."""

    url: str
    engine_urls: tuple[str, ...] = ()
    model: str = ""
    verdicts: tuple[ShownMode, ...] = ()
    cache_config: Mapping[str, str] = field(default_factory=dict)
    weights_bytes: int | None = None
    kv_cache_tokens: int | None = None
    kv_cache_bytes: int | None = None
    logs: tuple[str, ...] = ()
    ended: Callable[[], Coroutine[Any, Any, Failed]]
    """Returns when and why it cannot serve any more."""
    ready: Callable[[], bool] = lambda: True
    """Whether it takes requests now: not while an engine that failed is started again."""
    discovery: Path | None = None
    """Where a Prometheus looks for load generators."""


class World(Protocol):
    """The three things that take long."""

    def up(self, arm: ArmRead) -> AbstractAsyncContextManager[Up]:
        """Bring an arm up with its modes proven, and down at the end of the `with`.

        Raises: TeapotError where it does not start, or a mode is not in effect.
        """

    async def load(self, up: Up, workload: Workload, out: Path) -> None:
        """Send a workload and leave a whole run folder at `out`; a cancellation ends the sending first.

        Raises: TeapotError where nothing could be measured.
        """

    async def quality(self, up: Up) -> Mapping[str, Any]:
        """Ask for answers and their likelihood. Raises: TeapotError."""

    def log_tail(self, arm: ArmRead) -> tuple[str, ...]:
        """The last lines of the engine of an arm that did not come up."""


@dataclass(frozen=True, slots=True)
class Times:
    """Clocks."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def stamp(self) -> str:
        """The wall clock in UTC, for files."""
        return self.now().isoformat(timespec="seconds")
