"""An engine made of raw bytes, and a gateway in front of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest
from fakes.raw_http import PATIENCE_S, RawEngine

from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.loop import loop_factory
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings

MakeGateway = Callable[..., Awaitable[Gateway]]
LoopFactory = Callable[[], asyncio.AbstractEventLoop]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def pytest_asyncio_loop_factories() -> Mapping[str, LoopFactory]:
    """Let these tests run on the loop that the gateway serves on; on asyncio's with TEST_LOOP=asyncio."""
    if os.environ.get("TEST_LOOP") == "asyncio":
        return {"asyncio": asyncio.new_event_loop}
    return {"serving": loop_factory()}


@pytest.fixture
async def engine() -> AsyncIterator[RawEngine]:
    async with RawEngine().listening() as running:
        yield running


@pytest.fixture
async def make_gateway() -> AsyncIterator[MakeGateway]:
    """Starts gateways on free ports, with one ready backend each unless told otherwise."""
    started: list[Gateway] = []

    async def make(
        engine_url: str | None = None,
        *,
        limits: GatewayLimits | None = None,
        settings: EdgeSettings | None = None,
        opened: bool = True,
    ) -> Gateway:
        gateway = Gateway("demo", limits, settings)
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
        started.append(gateway)
        if engine_url is not None:
            gateway.add(Backend(engine_url, state="ready"))
        if opened:
            gateway.open(())
        return gateway

    yield make
    for gateway in started:
        await gateway.stop()


@pytest.fixture
async def gateway(engine: RawEngine, make_gateway: MakeGateway) -> Gateway:
    """A gateway that is ready, in front of `engine`."""
    return await make_gateway(engine.url)


@pytest.fixture
def eventually() -> Eventually:
    """Waits for what another task brings about."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - what is watched has no event
                await asyncio.sleep(0.005)

    return wait
