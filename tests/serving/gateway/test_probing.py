"""Backends elsewhere are used while they answer, and asked less and less often while they do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from fakes.raw_http import Call, RawEngine, fixed

from serving.gateway.backends import Backend
from serving.gateway.elsewhere import Access, Elsewhere
from serving.gateway.probing import Pace, Probing
from serving.gateway.upstream.pool import Pool

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
OK = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
AWAY = fixed(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n")
QUICK = Pace(every_s=0.01, again_s=0.01, most_s=0.02, patience_s=0.5)


@asynccontextmanager
async def watched(engine: RawEngine, pace: Pace = QUICK, **there: object) -> AsyncIterator[Backend]:
    backend = Backend(engine.url, revision="there")
    access = Access("there", Elsewhere((engine.url,), **there), {"K": "sk-own"})
    probing = Probing([backend], {"there": access}, Pool(connect_s=1, idle_s=1), pace)
    probing.start()
    await probing.known()
    yield backend
    await probing.stop()


def test_the_wait_doubles_with_each_failure_up_to_half_a_minute() -> None:
    assert [Pace().wait_s(failures) for failures in (0, 1, 2, 3, 6, 1000)] == [5, 1, 2, 4, 30, 30]


async def test_one_that_answers_is_ready_after_one_question_with_the_gateways_key(engine: RawEngine) -> None:
    engine.answer = OK
    async with watched(engine, key_env="K") as backend:
        assert (backend.state, backend.detail) == ("ready", "")
    assert engine.calls[0].line == "GET /v1/models HTTP/1.1"
    assert engine.calls[0].header("Authorization") == "Bearer sk-own"


async def test_its_own_path_of_health_is_asked_for(engine: RawEngine) -> None:
    engine.answer = OK
    async with watched(engine, health="/health"):
        pass
    assert engine.calls[0].line == "GET /health HTTP/1.1"


async def test_one_lost_answer_is_forgiven_and_two_are_not_until_it_answers_again(
    engine: RawEngine, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    engine.answer = OK
    failures = 0

    async def fails(call: Call) -> None:
        nonlocal failures
        failures += 1
        assert failures > 2 or backend.state == "ready"
        await AWAY(call)

    async with watched(engine) as backend:
        engine.answer = fails
        await eventually(lambda: backend.state == "down")
        assert failures >= 2
        assert backend.detail == "GET /v1/models: 503"
        engine.answer = OK
        await eventually(lambda: backend.state == "ready")
        assert backend.detail == ""
    assert [record.message.split(" ", 3)[3] for record in caplog.records] == [
        "answers", "gets no requests: GET /v1/models: 503", "answers",
    ]  # fmt: skip


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_as_the_reason(engine: RawEngine, status: int) -> None:
    engine.answer = fixed(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status)
    async with watched(engine) as backend:
        assert backend.state == "down"
        assert backend.detail == f"GET /v1/models: {status}, so its key is missing or wrong"


async def test_one_that_nobody_listens_for_and_one_that_is_silent_are_down(engine: RawEngine) -> None:
    async def silent(call: Call) -> None:
        await call.gone()

    engine.answer = silent
    async with watched(engine, Pace(patience_s=0.05)) as backend:
        assert backend.detail == "GET /v1/models: no answer within 0.05 s"
    engine.url = "http://127.0.0.1:1"
    async with watched(engine) as backend:
        assert backend.state == "down"
        assert "Errno 111" in backend.detail


async def test_after_the_stop_nothing_is_asked_any_more(engine: RawEngine) -> None:
    engine.answer = OK
    async with watched(engine):
        pass
    asked = len(engine.calls)
    await asyncio.sleep(0.05)
    assert len(engine.calls) == asked
