"""Watches the backends that others run: asked again and again, used while they answer.

Owns: when each is asked and what its answers make of its state. Knows nothing about requests or routing.
Our own engines are the supervisor's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from serving.gateway import request_ids
from serving.gateway.backends import Backend
from serving.gateway.elsewhere import Access
from serving.gateway.upstream.answer import Answer, UpstreamFailed
from serving.gateway.upstream.pool import Pool

logger = logging.getLogger("teapot.gateway.elsewhere")

_MOST_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a backend is asked, in seconds."""

    every_s: float = 5.0
    again_s: float = 1.0
    """After the first failure; doubled with each further one."""
    most_s: float = 30.0
    patience_s: float = 5.0
    """How long an answer may take."""
    failures: int = 2
    """One that served is away after so many in a row: one answer may be lost to anything."""

    def wait_s(self, failures: int) -> float:
        """Until the next question, after so many failures in a row."""
        return min(self.most_s, self.again_s * 2.0 ** min(failures - 1, 20)) if failures else self.every_s


@dataclass(slots=True)
class Probing:
    """The watch over some backends. Made and started inside a running event loop."""

    backends: Sequence[Backend]
    accesses: Mapping[str, Access]
    pool: Pool
    pace: Pace = field(default_factory=Pace)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _asked: dict[Backend, asyncio.Event] = field(default_factory=dict)

    def start(self) -> None:
        """Begin to ask."""
        for backend in self.backends:
            self._asked[backend] = asyncio.Event()
            self._tasks.append(asyncio.create_task(self._watch(backend)))

    async def known(self) -> None:
        """Return when each backend was asked once."""
        await asyncio.gather(*(asked.wait() for asked in self._asked.values()))

    async def stop(self) -> None:
        """Ask no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self.pool.close()

    async def _watch(self, backend: Backend) -> None:
        failures = 0
        while True:
            why = await self._ask(backend)
            failures = 0 if why is None else failures + 1
            self._judge(backend, why, failures)
            self._asked[backend].set()
            await asyncio.sleep(self.pace.wait_s(failures))

    def _judge(self, backend: Backend, why: str | None, failures: int) -> None:
        before = backend.state
        if why is None:
            backend.state, backend.detail = "ready", ""
        elif before != "ready" or failures >= self.pace.failures:
            backend.state, backend.detail = "down", why
        if backend.state != before:
            what = "answers" if why is None else f"gets no requests: {why}"
            logger.warning("revision %s: %s %s", backend.revision, backend.url, what)

    async def _ask(self, backend: Backend) -> str | None:
        """Why it cannot be used; None if it can."""
        access = self.accesses[backend.revision]
        headers, _ = access.dress({"Accept": "*/*", request_ids.HEADER: request_ids.accept(None)}, None)
        opened: list[Answer] = []
        try:
            async with asyncio.timeout(self.pace.patience_s):
                sent = await self.pool.ask(backend.url, "GET", access.health, headers, None, opened.append)
                await sent.answer.read(_MOST_BYTES)
        except TimeoutError:
            return f"GET {access.health}: no answer within {self.pace.patience_s:g} s"
        except UpstreamFailed as error:
            return f"GET {access.health}: {error}"
        finally:
            for answer in opened:
                answer.close()
        status = sent.head.status
        if status in (401, 403):
            return f"GET {access.health}: {status}, so its key is missing or wrong"
        return None if 200 <= status < 300 else f"GET {access.health}: {status}"
