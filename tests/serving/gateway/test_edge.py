"""What is answered to bytes that are not a request."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from fakes.raw_http import RawClient, ask, get
from fakes.samples import total

from serving.gateway.edge import EdgeServer, Handler
from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", id="TLS"),
        pytest.param(b"hello\r\n\r\n", id="no request line"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", id="unknown version"),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", id="broken header"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", id="long header"),
        pytest.param(b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", id="long path"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1_000 + b"\r\n", id="many headers"),
        pytest.param(
            b"POST /v1/completions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            id="two framings",
        ),
    ],
)
async def test_a_broken_request_gets_an_openai_error_that_names_no_software(
    gateway: Gateway, garbage: bytes
) -> None:
    answer = await ask(gateway.public_url, garbage)
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["code"] == "invalid_http"
    assert answer.headers["x-request-id"]
    for word in (b"aiohttp", b"Python"):
        assert word not in answer.raw
    labels = {"path": "other", "outcome": "rejected", "code": "400", "revision": "none"}
    assert total(gateway.metrics.registry, "teapot_gateway_requests_total", **labels) == 1


async def test_a_broken_chunked_body_is_the_clients_fault(gateway: Gateway) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(head + b"zz\r\n")
        assert (await client.receive(b"}}")).startswith(b"HTTP/1.0 400 ")


async def test_a_head_that_never_ends_is_hung_up_on(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(limits=GatewayLimits(idle_client_s=0.05))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(AssertionError, match="did not come before the end of b''"):
            await client.receive(b"HTTP")


async def test_a_connection_serves_several_requests(gateway: Gateway) -> None:
    request = get("/health/live").replace(b"Connection: close\r\n", b"")
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(request + request)
        await client.send(get("/health/ready"))
        answer = await client.answer()
    assert answer.raw.count(b"HTTP/1.1 200 OK") == 3


@asynccontextmanager
async def connected(handle: Handler) -> AsyncIterator[RawClient]:
    """A client of a server of its own."""
    edge = EdgeServer(handle, lambda status: web.Response(status=status), GatewayLimits())
    server = await asyncio.get_running_loop().create_server(edge, "127.0.0.1", 0)
    async with server, RawClient.connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
        yield client


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there aiohttp's tasks begin at once")
async def test_the_requests_of_a_connection_run_in_its_own_task() -> None:
    tasks: list[asyncio.Task[None] | None] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        tasks.append(asyncio.current_task())
        return web.Response(text="ok")

    async with connected(handle) as client:
        await client.send(get("/a").replace(b"Connection: close\r\n", b"") + get("/b"))
        await client.answer()
    assert len(tasks) == 2
    assert tasks[0] is tasks[1]


class Kept:
    """Something of a request."""


async def test_a_client_that_leaves_leaves_nothing_for_the_garbage_collector() -> None:
    seen: list[weakref.ref[Kept]] = []
    came, freed = asyncio.Event(), asyncio.Event()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        kept = Kept()
        seen.append(weakref.ref(kept, lambda _: freed.set()))
        came.set()
        async with asyncio.timeout(None) as timer:
            await asyncio.Event().wait()
        return web.Response(text=f"{kept}{timer}")

    gc.disable()
    try:
        async with connected(handle) as client:
            await client.send(get("/a"))
            await came.wait()
        async with asyncio.timeout(10):
            await freed.wait()
    finally:
        gc.enable()
