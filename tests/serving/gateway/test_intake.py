"""Bodies that do not come, do not end, or come when the server goes down."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from fakes.raw_http import RawClient, RawEngine, ask, chunked, parse, post

from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"


async def test_a_body_that_does_not_come_is_a_timeout_of_the_clients(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(body_s=0.05))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT, b"{}")[:-1])
        answer = parse(await client.receive(b"}}"))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (408, "timeout")
    assert engine.calls == []


async def test_a_body_that_is_still_coming_in_at_the_end_is_told_why(
    gateway: Gateway, eventually: Eventually
) -> None:
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT, b"{}")[:-1])
        await eventually(lambda: gateway.state.in_flight == 1)
        assert await gateway.drain(0) == 1
        answer = parse(await client.receive(b"}}"))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (503, "shutting_down")
    assert gateway.state.in_flight == 0


async def test_a_body_in_endless_pieces_is_refused_at_its_limit(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(max_body_bytes=1000))
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(head + chunked(*[b"x" * 100] * 11))
        seen = await client.receive(b"}}")
    assert parse(seen).status == 413
    assert engine.calls == []


async def test_a_whole_body_reaches_the_engine_as_it_was(engine: RawEngine, gateway: Gateway) -> None:
    async def answer(call: object) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")  # type: ignore[attr-defined]

    engine.answer = answer
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answered = await ask(gateway.public_url, head.encode() + chunked(b"ab", b"\x00\xff") + b"0\r\n\r\n")
    assert answered.status == 200
    assert engine.calls[0].body == b"ab\x00\xff"
