"""A request that one engine fails is another's, as long as the client has got nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from fakes.raw_http import Answer, Call, RawAnswer, RawEngine, ask, chunked, fixed, post
from fakes.samples import total

from serving.gateway.backends import Backend
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.server import Gateway
from serving.gateway.state import OwnRevision, ShadowShare

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
BUSY = b"HTTP/1.1 503 X\r\nretry-after: 9\r\ncontent-length: 4\r\n\r\nbusy"
DRAINING = b"HTTP/1.1 500 X\r\ncontent-length: 43\r\n\r\ncannot schedule new futures after shutdown!"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
GONE = "http://127.0.0.1:1"


async def reset(call: Call) -> None:
    call.reset()


@pytest.fixture
async def second() -> AsyncIterator[RawEngine]:
    async with RawEngine().listening() as running:
        running.answer = fixed(OK)
        yield running


async def made(*urls: str, **settings: object) -> Gateway:
    # In turn, so that the first of them is the first to be tried.
    gateway = Gateway("demo", routing=RoutingSettings(policy="round_robin", **settings))
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    for url in urls:
        gateway.add(Backend(url, state="ready"))
    gateway.open(())
    return gateway


async def chat(gateway: Gateway) -> RawAnswer:
    return await ask(gateway.public_url, post(CHAT))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(fixed(b""), id="closes"),
        pytest.param(reset, id="resets"),
        pytest.param(fixed(b"HTTP/1.1 200 OK\r\nconte"), id="breaks off its head"),
        pytest.param(fixed(b"\x00garbage\r\n\r\n"), id="speaks nonsense"),
        pytest.param(fixed(BUSY), id="is busy"),
        pytest.param(fixed(DRAINING), id="drains"),
    ],
)
async def test_before_the_first_byte_another_engine_is_asked(
    engine: RawEngine, second: RawEngine, answer: Answer
) -> None:
    engine.answer = answer
    gateway = await made(engine.url, second.url)
    seen = await chat(gateway)
    assert (seen.status, seen.body) == (200, b"{}")
    assert [call.body for call in second.calls] == [b"{}"]
    registry = gateway.metrics.registry
    assert total(registry, "teapot_gateway_failed_tries_total", backend=engine.url) == 1
    assert total(registry, "teapot_gateway_requests_total", outcome="ok", backend=second.url) == 1
    assert [backend.in_flight for backend in gateway.state.backends] == [0, 0]
    await gateway.stop()


async def test_an_engine_that_is_gone_costs_no_request_and_then_rests(second: RawEngine) -> None:
    gateway = await made(GONE, second.url, rest_s=60)
    assert [(await chat(gateway)).status for _ in range(5)] == [200] * 5
    assert total(gateway.metrics.registry, "teapot_gateway_failed_tries_total", backend=GONE) == 1
    await gateway.stop()


@pytest.mark.parametrize("status", [400, 404, 429, 500, 501])
async def test_an_engines_judgement_of_a_request_stands(
    engine: RawEngine, second: RawEngine, status: int
) -> None:
    engine.answer = fixed(b"HTTP/1.1 %d X\r\ncontent-length: 1\r\n\r\nx" % status)
    gateway = await made(engine.url, second.url)
    assert (await chat(gateway)).status == status
    assert second.calls == []
    await gateway.stop()


async def test_after_the_first_byte_nobody_else_is_asked(engine: RawEngine, second: RawEngine) -> None:
    engine.answer = fixed(SSE_HEAD + chunked(b"data: 1\n\n"))
    gateway = await made(engine.url, second.url)
    seen = await chat(gateway)
    assert seen.body.startswith(b'data: 1\n\ndata: {"error"')
    assert seen.whole
    assert second.calls == []
    await gateway.stop()


async def test_the_last_engines_own_words_reach_the_client_when_all_are_busy(
    engine: RawEngine, second: RawEngine
) -> None:
    engine.answer = second.answer = fixed(BUSY)
    gateway = await made(engine.url, second.url)
    seen = await chat(gateway)
    assert (seen.status, seen.headers["retry-after"]) == (503, "9")
    assert json.loads(seen.body)["error"]["message"] == "busy"
    await gateway.stop()


async def test_no_more_engines_are_asked_than_allowed(engine: RawEngine) -> None:
    engine.answer = fixed(BUSY)
    gateway = await made(GONE, "http://127.0.0.1:2", "http://127.0.0.1:3", engine.url, attempts=3)
    assert json.loads((await chat(gateway)).body)["error"]["code"] == "engine_unreachable"
    assert engine.calls == []
    await gateway.stop()


async def test_when_everything_fails_tries_stay_a_share_of_the_requests(
    engine: RawEngine, second: RawEngine
) -> None:
    engine.answer = second.answer = fixed(BUSY)
    gateway = await made(engine.url, second.url, retry_ratio=0.1)
    for _ in range(100):
        assert (await chat(gateway)).status == 503
    # A hundred requests, ten in reserve, and a tenth of a hundred: about twenty second tries.
    assert len(engine.calls) + len(second.calls) <= 121
    await gateway.stop()


async def test_a_revision_whose_engines_fail_does_not_cost_its_share_the_answer(second: RawEngine) -> None:
    gateway = await made(GONE)
    gateway.add(Backend(second.url, revision="old", state="ready"))
    gateway.state.backends.set_weights({"main": 1, "old": 1})
    assert {(await chat(gateway)).status for _ in range(10)} == {200}
    failed = total(gateway.metrics.registry, "teapot_gateway_failed_tries_total", revision="main")
    assert failed == 5  # Every second request was the dead revision's, and that is seen.
    assert total(gateway.metrics.registry, "teapot_gateway_lent_requests_total", revision="old") == 5
    await gateway.stop()


async def test_a_revision_that_went_away_altogether_is_stood_in_for_by_a_proven_one_without_a_share(
    second: RawEngine,
) -> None:
    gateway = await made(GONE)
    gateway.add(Backend(second.url, revision="new", state="ready"))
    gateway.state.set_weights({"main": 1})
    next(iter(gateway.state.backends)).state = "down"
    assert (await chat(gateway)).status == 503
    gateway.state.tell("new", OwnRevision("ready"))
    assert {(await chat(gateway)).status for _ in range(4)} == {200}
    assert total(gateway.metrics.registry, "teapot_gateway_lent_requests_total", revision="new") == 4
    await gateway.stop()


async def test_where_it_is_known_when_an_engine_comes_back_clients_are_told(engine: RawEngine) -> None:
    gateway = await made(engine.url)
    next(iter(gateway.state.backends)).state = "down"
    gateway.state.again_in_s = 90
    assert (await chat(gateway)).headers["retry-after"] == "90"
    await gateway.stop()


@pytest.mark.slow
async def test_weights_changed_a_hundred_times_under_load_cost_no_request(
    engine: RawEngine, second: RawEngine
) -> None:
    async def some(call: Call) -> None:
        await call.send(SSE_HEAD)
        for _ in range(3):
            await call.send(chunked(b"data: 1\n\n"))
            await asyncio.sleep(0.001)
        await call.send(b"0\r\n\r\n")

    engine.answer = second.answer = some
    gateway = await made(engine.url)
    gateway.add(Backend(second.url, revision="new", state="ready"))
    running = True
    seen: list[RawAnswer] = []

    async def client() -> None:
        while running:
            seen.append(await chat(gateway))

    clients = [asyncio.ensure_future(client()) for _ in range(8)]
    for number in range(100):
        gateway.state.backends.set_weights({"main": 100 - number, "new": number + 1})
        await asyncio.sleep(0.005)
    running = False
    await asyncio.gather(*clients)
    assert {(answer.status, answer.whole, answer.body) for answer in seen} == {
        (200, True, b"data: 1\n\n" * 3)
    }
    assert engine.calls
    assert second.calls
    await gateway.stop()


async def test_a_shadow_gets_copies_and_the_client_only_its_own_answer(
    engine: RawEngine, second: RawEngine, eventually: Eventually
) -> None:
    engine.answer = fixed(OK)
    second.answer = fixed(b"HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops")
    gateway = await made(engine.url)
    gateway.add(Backend(second.url, revision="new", state="ready"))
    gateway.state.backends.set_weights({"main": 1})
    gateway.state.set_shadow(ShadowShare("new", 0.5))
    assert {(await chat(gateway)).status for _ in range(20)} == {200}
    registry = gateway.metrics.registry

    def copied() -> float:
        name = "teapot_gateway_requests_total"
        return total(registry, name, traffic="shadow", revision="new", code="500") or 0

    await eventually(lambda: copied() >= 9)
    assert len(second.calls) == copied()
    assert total(registry, "teapot_gateway_requests_total", traffic="client") == 20
    await gateway.stop()
