"""A running stack of scripted engines, and another revision asked for over its admin address.

Owns: starting it, asking it, and a client that keeps asking. Knows nothing about what a test expects.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from fakes.engine_home import EngineHome

from deploy.prepared import prepare
from deploy.stack import Stack
from serving.console import Console
from serving.engine.watching import Clock

PATIENCE_S = 60.0
SMALL = {"device": "cpu", "kv_cache_memory": "256MiB", "max_model_len": 2048}


class Said(Console):
    """A console that remembers."""

    def __init__(self) -> None:
        super().__init__(out=io.StringIO(), err=io.StringIO())

    def text(self) -> str:
        return self.err.getvalue()  # type: ignore[attr-defined]  # a StringIO

    def results(self) -> str:
        return self.out.getvalue()  # type: ignore[attr-defined]  # a StringIO


def file_of(home: EngineHome, name: str, **keys: Any) -> Path:
    """A deployment file of that name in the home."""
    made = home.deployment(**({"engine": SMALL} | keys))
    return made.rename(made.with_name(f"{name}.yaml"))


async def until(condition: Callable[[], bool]) -> None:
    """Return once it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to this in time"
        await asyncio.sleep(0.01)


@dataclass(slots=True)
class Running:
    """A stack that is up."""

    home: EngineHome
    stack: Stack
    console: Said
    ended: asyncio.Task[Any]

    @property
    def admin(self) -> str:
        return self.stack.gateway.admin_url

    def own(self, name: str = "new") -> dict[str, Any] | None:
        """What the status tells of a revision; None: nothing."""
        rows = self.stack.gateway.state.document()["revisions"]
        return next((row for row in rows if row["name"] == name), None)

    async def call(self, method: str, path: str, document: Any = None) -> tuple[int, Any]:
        """Ask the admin address with the token."""
        token = self.stack.engines.token
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
            session.request(method, self.admin + path, json=document) as answer,
        ):
            return answer.status, await answer.json()

    async def begin(self, file: Path, name: str = "new", **more: Any) -> None:
        status, told = await self.call("POST", "/revisions", {"name": name, "file": str(file), **more})
        assert status == 202, told

    async def reaches(self, state: str, name: str = "new") -> None:
        """Wait until a revision is in that state."""
        await until(lambda: (self.own(name) or {}).get("state") == state)

    async def gone(self, name: str) -> None:
        await until(lambda: self.own(name) is None)

    async def weigh(self, **weights: float) -> None:
        status, told = await self.call("PUT", "/revisions", weights)
        assert status == 200, told

    def answers(self, name: str) -> float:
        """How many requests ended at a revision, by the gateway's own count."""
        registry = self.stack.gateway.metrics.registry
        rows = [sample for family in registry.collect() for sample in family.samples]
        return sum(
            row.value for row in rows
            if row.name == "teapot_gateway_requests_total" and row.labels["revision"] == name
        )  # fmt: skip


@asynccontextmanager
async def running(
    home: EngineHome, file: Path, *, allow_ineffective: bool = False, clock: Clock | None = None
) -> AsyncIterator[Running]:
    """A stack up for the length of a `with`."""
    console = Said()
    prepared = prepare(str(file), (), console, allow_ineffective=allow_ineffective)
    stack = Stack(prepared, console, allow_ineffective, clock or Clock())
    try:
        await stack.up()
        ended = asyncio.create_task(stack.ended())
        try:
            yield Running(home, stack, console, ended)
        finally:
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)
    finally:
        await stack.down()


@dataclass(slots=True)
class Clients:
    """Some clients that ask one after another, each as soon as its answer is there."""

    url: str
    model: str = "tiny"
    tokens: int = 2
    pause_s: float = 0.005
    leaves_after_s: float | None = None
    """When a client gives up its request."""
    statuses: Counter[int | str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def asking(self, count: int = 2) -> AsyncIterator[Clients]:
        """Keep asking for the length of a `with`."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self._ask(stop, number)) for number in range(count)]
        try:
            yield self
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def _ask(self, stop: asyncio.Event, number: int) -> None:
        async with aiohttp.ClientSession(self.url) as session:
            asked = 0
            while not stop.is_set():
                asked += 1
                body = {
                    "model": self.model, "prompt": f"Once {number} {asked}", "max_tokens": self.tokens,
                    "stream": True, "stream_options": {"include_usage": True},
                }  # fmt: skip
                await self._one(session, body)
                await asyncio.sleep(self.pause_s)

    async def _one(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> None:
        try:
            async with (
                asyncio.timeout(self.leaves_after_s),
                session.post("/v1/completions", json=body) as answer,
            ):
                text = await answer.text()
        except TimeoutError:
            self.statuses["left"] += 1
            return
        except aiohttp.ClientError as error:
            self.statuses[type(error).__name__] += 1
            self.failures.append(f"{type(error).__name__}: {error}")
            return
        whole = answer.status == 200 and text.rstrip().endswith("data: [DONE]") and '"error"' not in text
        self.statuses[answer.status if answer.status != 200 or whole else "broken"] += 1
        if not whole:
            self.failures.append(text[:300])
