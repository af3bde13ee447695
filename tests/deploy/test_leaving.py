"""What is said and done while a gateway leaves; that requests finish is `Gateway`'s own test."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from fakes.raw_http import Call, RawEngine, ask, post

from deploy.leaving import leave
from serving.config.schema import GatewaySection
from serving.console import Console
from serving.gateway.backends import Backend
from serving.gateway.server import Gateway
from serving.gateway.settings import edge_settings, gateway_limits

CHAT = "/v1/chat/completions"


async def left(section: GatewaySection, *, busy: bool) -> str:
    console = Console(out=io.StringIO(), err=io.StringIO())
    async with RawEngine().listening() as engine:
        engine.answer = Call.gone
        gateway = Gateway("demo", gateway_limits(section), edge_settings(section, Path()))
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
        gateway.add(Backend(engine.url, state="ready"))
        gateway.open(())
        asked = asyncio.create_task(ask(gateway.public_url, post(CHAT))) if busy else None
        while busy and gateway.state.in_flight == 0:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.005)
        await leave(gateway, section, console)
        if asked is not None:
            assert (await asked).status == 503
        await gateway.stop()
    return console.err.getvalue()  # type: ignore[attr-defined]


async def test_an_idle_gateway_leaves_without_a_word() -> None:
    assert await left(GatewaySection(), busy=False) == ""


async def test_requests_that_do_not_finish_in_time_are_told_of() -> None:
    said = await left(GatewaySection(drain_timeout="50ms"), busy=True)
    assert "finishing 1 requests (up to 50 ms)" in said
    assert "1 requests did not finish in time and were ended with an error" in said


async def test_a_grace_is_told_of_and_kept() -> None:
    said = await left(GatewaySection(grace="10ms"), busy=False)
    assert "not ready any more; requests are still taken for 10 ms" in said
