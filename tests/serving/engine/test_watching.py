from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fakes.scripted_engine import ScriptedEngine

from serving.engine.ports import free_port
from serving.engine.watching import Clock, until_stuck


class Time:
    """A clock whose sleeps take no time but pass; after `end_s` they never return."""

    def __init__(self, end_s: float) -> None:
        self.now_s = 0.0
        self._end_s = end_s

    def now(self) -> float:
        return self.now_s

    async def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s
        if self.now_s > self._end_s:
            await asyncio.Event().wait()


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start() as running:
        yield running


async def watched(url: str, *, in_flight: int = 0, end_s: float = 1000) -> str | None:
    """What was found within `end_s` of the fake clock; None: nothing."""
    time = Time(end_s)
    try:
        async with asyncio.timeout(3 if end_s < 1000 else 60):
            return await until_stuck(url, lambda: in_flight, 60, Clock(time.now, time.sleep))
    except TimeoutError:
        return None


@pytest.mark.slow
async def test_an_idle_engine_is_left_alone(engine: ScriptedEngine) -> None:
    assert await watched(engine.url, end_s=300) is None


@pytest.mark.slow
async def test_a_slow_readers_request_is_no_reason_while_the_engine_generates(engine: ScriptedEngine) -> None:
    assert await watched(engine.url, in_flight=1, end_s=300) is None
    assert len(engine.exchanges()) > 0


@pytest.mark.slow
async def test_an_engine_whose_core_is_dead_is_found_by_its_health(engine: ScriptedEngine) -> None:
    engine.set_health(503)
    assert await watched(engine.url) == "its API answers and its engine core is dead (/health 503)"


async def test_one_that_answers_nothing_is_stuck_after_its_time() -> None:
    found = await watched(f"http://127.0.0.1:{free_port()}")
    assert found == "it has requests and nothing has moved for 60 s"
