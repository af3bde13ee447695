"""The client's side: slow readers, and what happens when they never read."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import Call, RawClient, RawEngine, ask, chunked, fixed, post
from fakes.samples import total

from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.relay import Relay
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

BLOCK = bytes(range(256)) * 256
EVENT = b"data: " + b"x" * (len(BLOCK) - 8) + b"\n\n"
BLOCKS = 400
"""25 MiB: far more than the buffers of two kernels' sockets and of the gateway can take."""
HEAD = f"HTTP/1.1 200 OK\r\ncontent-length: {len(BLOCK) * BLOCKS}\r\n\r\n".encode()


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM += chunked(b"data: 1\n\n", b"data: [DONE]\n\n") + b"0\r\n\r\n"


async def flood(call: Call) -> None:
    await call.send(HEAD)
    for _ in range(BLOCKS):
        await call.send(BLOCK)


async def stuck(engine: RawEngine, eventually: Eventually) -> int:
    """Wait until the engine cannot send any more, and return how much it has sent."""
    await eventually(lambda: bool(engine.calls) and engine.calls[0].sent_bytes > 0)
    before = -1
    while before != engine.calls[0].sent_bytes:
        before = engine.calls[0].sent_bytes
        await asyncio.sleep(0.1)
    return before


@pytest.mark.slow
async def test_a_slow_reader_slows_the_engine_and_loses_nothing(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    engine.answer = flood
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post("/v1/completions"))
        assert await stuck(engine, eventually) < len(BLOCK) * BLOCKS
        answer = await client.answer()
    assert answer.whole
    assert answer.body == BLOCK * BLOCKS


async def test_a_client_that_never_reads_is_given_up_and_not_blamed_on_the_engine(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = flood
    gateway = await make_gateway(engine.url, limits=GatewayLimits(between_bytes_s=0.2))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post("/v1/completions"))
        await eventually(lambda: len(engine.calls) == 1)
        await eventually(lambda: gateway.state.in_flight == 0)
    labels = {"path": "/v1/completions", "outcome": "client_gone", "code": "200", "revision": "main"}
    assert total(gateway.metrics.registry, "teapot_gateway_requests_total", **labels) == 1


@pytest.mark.slow
async def test_a_slow_reader_still_hears_that_its_stream_broke(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    async def flood_and_die(call: Call) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        await call.send(b"transfer-encoding: chunked\r\n\r\n")
        for _ in range(BLOCKS):
            await call.send(chunked(EVENT))

    engine.answer = flood_and_die
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post("/v1/completions"))
        await stuck(engine, eventually)
        answer = await client.answer()
    assert answer.whole
    # When a connection breaks, aiohttp drops what it has read and not handed on: the last events may be lost.
    told, error, _ = answer.body.partition(b'data: {"error"')
    assert error
    assert (EVENT * BLOCKS).startswith(told.removesuffix(b"\n\n"))


async def test_an_old_client_gets_a_stream_that_ends_with_its_connection(
    engine: RawEngine, gateway: Gateway
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    engine.answer = fixed(head + chunked(b"data: 1\n\n", b"data: 2\n\n") + b"0\r\n\r\n")
    request = post("/v1/completions").replace(b"HTTP/1.1", b"HTTP/1.0")
    answer = await ask(gateway.public_url, request)
    assert "transfer-encoding" not in answer.headers
    assert answer.body == b"data: 1\n\ndata: 2\n\n"


async def test_a_client_that_leaves_while_sending_reaches_no_engine(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post("/v1/completions", b"x" * 100)[:-50])
        await eventually(lambda: gateway.state.in_flight == 1)
        client.leave()
        await eventually(lambda: gateway.state.in_flight == 0)
    assert engine.calls == []
    labels = {"path": "/v1/completions", "outcome": "client_gone", "code": "none", "revision": "none"}
    assert total(gateway.metrics.registry, "teapot_gateway_requests_total", **labels) == 1


async def test_a_request_that_has_ended_is_gone_without_the_garbage_collector(
    engine: RawEngine, gateway: Gateway
) -> None:
    gc.collect()
    gc.disable()
    try:
        for answer in (STREAM, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"):
            engine.answer = fixed(answer)
            assert (await ask(gateway.public_url, post("/v1/completions"))).status == 200
        left = [type(one).__name__ for one in gc.get_objects() if isinstance(one, Relay | Exchange)]
    finally:
        gc.enable()
    assert left == []
