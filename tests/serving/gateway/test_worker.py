"""What a worker tells its parent, and that it ends when its parent does."""

from __future__ import annotations

import asyncio
import socket

from fakes.raw_http import ask, get

from serving.gateway.channel import Channel
from serving.gateway.limits import GatewayLimits
from serving.gateway.messages import Finish, Finished, Orders, Serving
from serving.gateway.mirror import Report, take
from serving.gateway.settings import EdgeSettings
from serving.gateway.sockets import bind, url_of
from serving.gateway.state import GatewayState
from serving.gateway.worker import work


async def message(channel: Channel, kind: type) -> object:
    """The next message of a kind; reports come in between."""
    async with asyncio.timeout(10):
        while not isinstance(received := await channel.receive(), kind):
            pass
        return received


async def test_it_serves_reports_finishes_and_ends_with_its_parent() -> None:
    left, right = socket.socketpair()
    (listeners,) = bind("127.0.0.1", 0, "port")
    url = url_of("127.0.0.1", listeners[0], tls=False)
    # A worker owns its descriptors, as it has inherited copies.
    numbers = tuple(one.detach() for one in listeners)
    parent = await Channel.over(left)
    working = asyncio.create_task(work(await Channel.over(right)))
    state = GatewayState("demo", phase="ready")
    parent.send(Orders("demo", GatewayLimits(), EdgeSettings(), None, (), numbers, take(state)))
    await message(parent, Serving)
    assert (await ask(url, get("/nowhere"))).status == 404
    report = await message(parent, Report)
    while not report.ended:  # type: ignore[attr-defined]
        report = await message(parent, Report)
    assert [(ended.status, ended.kind) for ended in report.ended] == [(404, "rejected")]  # type: ignore[attr-defined]
    parent.send(Finish(0))
    assert await message(parent, Finished) == Finished(0)
    await parent.close()
    async with asyncio.timeout(10):
        await working
