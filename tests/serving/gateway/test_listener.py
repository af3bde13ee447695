"""Ending: whoever got a connection hears that it is over, at whatever moment it came."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from serving.gateway.listener import Listener
from serving.gateway.loop import loop_factory
from serving.gateway.sockets import bind


@pytest.fixture
def no_collection() -> Iterator[None]:
    """What is only forgotten stays open, as it does for a while in a process that serves."""
    gc.disable()
    yield
    gc.enable()


async def nothing(_request: web.BaseRequest) -> web.Response:
    return web.Response()


async def heard_by_a_client(turns: int) -> bytes:
    """What a client reads that connected so many turns of the loop before the end."""
    (sockets,) = bind("127.0.0.1", 0, "port")
    listener = Listener(web.ServerRunner(web.Server(nothing), shutdown_timeout=1.0))
    await listener.start(sockets)
    address = sockets[0].getsockname()
    with socket.create_connection(address) as client:
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        try:
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), timeout=10)
        except ConnectionError:
            return b""


@pytest.mark.slow
@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("factory", [asyncio.new_event_loop, loop_factory()], ids=["asyncio", "serving"])
@pytest.mark.parametrize("turns", range(6))
def test_a_client_that_comes_as_it_ends_is_not_left_waiting(
    turns: int, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(heard_by_a_client(turns)) == b""
