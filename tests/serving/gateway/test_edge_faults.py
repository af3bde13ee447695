"""Clients that mean harm: each is refused or hung up on, and nothing behind is reached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from fakes.raw_http import PATIENCE_S, RawClient, RawEngine, ask, chunked, fixed, get, parse, post

from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n"


async def drip(client: RawClient, data: bytes, every_s: float) -> None:
    """Send one byte at a time until the other side has had enough."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await client.send(data)
                await asyncio.sleep(every_s)
    except ConnectionError:
        return


async def test_a_head_that_drips_is_hung_up_on(engine: RawEngine, make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(idle_client_s=0.1))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        await drip(client, b"x", 0.01)
    assert engine.calls == []


async def test_a_second_head_on_a_kept_connection_may_not_drip_either(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(idle_client_s=0.1))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(get("/health/live").replace(b"Connection: close\r\n", b""))
        await client.receive(b"live")
        await client.send(b"GET /v1/models HTTP/1.1\r\nX-Slow: ")
        await drip(client, b"x", 0.01)


async def test_a_body_that_drips_is_ended_by_its_time(engine: RawEngine, make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(body_s=0.1, farewell_s=0.1))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(f"{HEAD}Content-Length: 1000000\r\n\r\n".encode())
        dripping = asyncio.create_task(drip(client, b"x", 0.01))
        assert parse(await client.receive(b"}}")).status == 408
        await dripping
    assert engine.calls == []
    assert gateway.state.in_flight == 0


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_hundred_megabytes_are_refused_without_being_kept(
    engine: RawEngine, gateway: Gateway, framing: str
) -> None:
    size, piece = 100_000_000, bytes(1_000_000)
    header = f"Content-Length: {size}" if framing == "length" else "Transfer-Encoding: chunked"
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(f"{HEAD}{header}\r\n\r\n".encode())
        with suppress(ConnectionError):  # It need not read to the end.
            for _ in range(size // len(piece)):
                await client.send(piece if framing == "length" else chunked(piece))
        answer = parse(await client.receive(b"}}"))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (413, "request_too_large")
    assert engine.calls == []


DEEP = [
    pytest.param(b"[" * 500_000, id="brackets"),
    pytest.param(b'{"kv_transfer_params":' * 100_000, id="the key that is taken out"),
    pytest.param(b'{"a":[' * 50_000 + b"1" + b"]}" * 50_000, id="whole"),
]


@pytest.mark.parametrize("body", DEEP)
@pytest.mark.parametrize("aliases", [{}, {"gpt-4o": "small"}], ids=["no aliases", "aliases"])
async def test_deep_json_is_no_fault_of_ours(
    engine: RawEngine, make_gateway: MakeGateway, body: bytes, aliases: dict[str, str]
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(aliases=aliases))
    answer = await ask(gateway.public_url, post(CHAT, body))
    # Sent on, for the engine to refuse, or refused here.
    assert answer.status in (200, 400)


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b'{"model":"\xc3\x28"}', b'"\xed\xa0\x80"'])
async def test_what_is_no_utf8_is_the_engines_to_refuse(
    engine: RawEngine, make_gateway: MakeGateway, body: bytes
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(aliases={"gpt-4o": "small"}))
    assert (await ask(gateway.public_url, post(CHAT, body))).status == 200
    assert engine.calls[0].body == body


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 100_000, id="many"),
        pytest.param(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 10_000_000, id="long"),
        pytest.param(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + b"a" * 10_000_000, id="long name"),
        pytest.param(b"G" * 10_000_000, id="long method"),
        pytest.param(b"\r\n" * 1_000_000, id="empty lines"),
    ],
)
async def test_a_flood_of_headers_is_refused_or_hung_up_on(
    engine: RawEngine, make_gateway: MakeGateway, head: bytes
) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(idle_client_s=0.2))
    async with RawClient.connect(gateway.public_url) as client:
        with suppress(ConnectionError):  # It need not read to the end.
            await client.send(head)
        try:
            answer = parse(await client.receive(b"}}"))
        except (ConnectionError, AssertionError):
            return
    assert answer.status == 400
    assert engine.calls == []


@pytest.mark.parametrize(
    "smuggled",
    [
        pytest.param(f"{HEAD}Content-Length: 2\r\nContent-Length: 50\r\n\r\n{{}}".encode(), id="two lengths"),
        pytest.param(
            f"{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(), id="both"
        ),
        pytest.param(
            f"{HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n".encode(), id="two codings"
        ),
        pytest.param(f"{HEAD}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n".encode(), id="blank before colon"),
        pytest.param(f"{HEAD}Content-Length: +2\r\n\r\n{{}}".encode(), id="signed length"),
        pytest.param(f"{HEAD}Content-Length: 0x2\r\n\r\n{{}}".encode(), id="hexadecimal length"),
        pytest.param(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n".encode(), id="negative chunk"),
        pytest.param(f"{HEAD}X: a\r\n b\r\nContent-Length: 2\r\n\r\n{{}}".encode(), id="folded header"),
        pytest.param(f"{HEAD}X: a\x00b\r\nContent-Length: 2\r\n\r\n{{}}".encode(), id="null in header"),
    ],
)
async def test_a_request_of_two_meanings_is_refused(
    engine: RawEngine, gateway: Gateway, smuggled: bytes
) -> None:
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(smuggled)
        answer = parse(await client.receive(b"}}"))
    assert answer.status == 400
    assert engine.calls == []
