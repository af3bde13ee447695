"""Many requests, many of them abandoned: everything is answered, counted, and let go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import Call, RawClient, RawEngine, chunked, post

from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REQUESTS = 300
AT_ONCE = 30


async def moody(call: Call) -> None:
    """Answer well, late, half, or not at all, as the request says."""
    mood = call.body.decode()
    if mood == "silent":
        await call.gone()
    elif mood == "broken":
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        call.reset()
    elif mood == "error":
        await call.send(b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n")
    else:
        await call.send(SSE_HEAD)
        for _ in range(5):
            await call.send(chunked(b"data: 1\n\n"))
            await asyncio.sleep(0.001)
        await call.send(b"0\r\n\r\n")


async def visit(url: str, mood: str, leaves_at: str | None) -> None:
    request = post(CHAT, mood.encode())
    async with RawClient.connect(url) as client:
        if leaves_at == "half a request":
            await client.send(request[:-2])
            await asyncio.sleep(0.002)
            return
        await client.send(request)
        if leaves_at == "after the request":
            await asyncio.sleep(0.002)
        elif leaves_at == "after the head":
            await client.receive(b"\r\n\r\n")
        else:
            # A reset overtakes bytes not yet read, so a broken stream may not even begin.
            assert (await client.answer()).status in (200, 500, 502)


@pytest.mark.slow
async def test_after_many_broken_requests_every_gauge_is_zero(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    engine.answer = moody
    dice = random.Random(1)
    slots = asyncio.Semaphore(AT_ONCE)
    moods = ("good", "good", "broken", "error")
    departures = (None, None, "half a request", "after the request", "after the head")

    plans = [dice.choice(departures) for _ in range(REQUESTS)]

    async def one(leaves_at: str | None) -> None:
        # Only who leaves by himself may ask what is never answered.
        mood = "silent" if leaves_at == "after the request" else dice.choice(moods)
        async with slots:
            await visit(gateway.public_url, mood, leaves_at)

    await asyncio.gather(*(one(leaves_at) for leaves_at in plans))
    sample = gateway.metrics.registry.get_sample_value
    (backend,) = gateway.state.backends
    labels = {"revision": "main", "role": "any", "backend": backend.url}
    await eventually(lambda: sample("teapot_gateway_requests_in_flight") == 0)
    assert sample("teapot_gateway_backend_requests_in_flight", labels) == 0
    counts = {
        (s.labels["outcome"], s.labels["code"]): s.value
        for family in gateway.metrics.registry.collect()
        for s in family.samples
        if s.name == "teapot_gateway_requests_total"
    }
    # Who left at once may have taken the request along, unread; who saw an answer was counted.
    saw_an_answer = sum(leaves_at in (None, "after the head") for leaves_at in plans)
    assert saw_an_answer <= sum(counts.values()) <= REQUESTS
    assert {kind for kind, _ in counts} == {"ok", "client_gone", "upstream_error"}
