"""The gateway's life: listening, draining, stopping."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import Call, RawClient, RawEngine, ask, chunked, get, post

from serving.errors import Failed, UsageError
from serving.gateway.server import Gateway
from serving.gateway.sockets import cannot_listen

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("key", ["port", "admin_port"])
async def test_a_taken_port_is_named_with_the_key_to_set(key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = {"port": 0, "admin_port": 0, key: port}
        gateway = Gateway("demo")
        with pytest.raises(Failed) as caught:
            await gateway.start("127.0.0.1", ports["port"], "127.0.0.1", ports["admin_port"])
    (problem,) = caught.value.problems
    assert f"port {port} on 127.0.0.1 is in use" in problem.what
    assert problem.where == f"gateway.{key}"
    assert f"set gateway.{key} to a free port" in (problem.fix or "")


async def test_nothing_stays_open_when_the_second_address_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway = Gateway("demo")
        with pytest.raises(Failed):
            await gateway.start("127.0.0.1", 0, "127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConnectionRefusedError):
        await ask(gateway.public_url, get("/health/live"))


def test_a_port_that_needs_root_says_which_key_to_raise() -> None:
    failed = cannot_listen(PermissionError(errno.EACCES, "Permission denied"), "127.0.0.1", 80, "port")
    assert str(failed) == (
        "gateway.port: this user may not listen on port 80; set gateway.port to 1024 or more"
    )


async def test_a_host_that_is_not_here_names_the_host_key() -> None:
    gateway = Gateway("demo")
    with pytest.raises(Failed) as caught:
        await gateway.start("192.0.2.1", 0, "127.0.0.1", 0)  # TEST-NET-1: nobody has it.
    assert caught.value.problems[0].where == "gateway.host"


async def test_an_admin_address_that_others_could_reach_is_refused_before_listening() -> None:
    with pytest.raises(UsageError) as caught:
        await Gateway("demo").start("127.0.0.1", 0, "0.0.0.0", 0)
    assert caught.value.problems[0].where == "gateway.admin_host"


async def test_stopping_what_never_started_is_no_error() -> None:
    gateway = Gateway("demo")
    await gateway.stop()
    await gateway.stop()
    assert gateway.state.phase == "stopped"


async def test_draining_refuses_new_requests_and_finishes_old_ones(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    finish = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await finish.wait()
        await call.send(chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    engine.answer = slow
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await client.receive(b"data: 1")
        draining = asyncio.create_task(gateway.drain(30))
        await eventually(lambda: gateway.state.phase == "draining")
        refused = await ask(gateway.public_url, post(CHAT).replace(b"Connection: close\r\n", b""))
        assert not draining.done()
        finish.set()
        assert await draining == 0
        answer = await client.answer()
    assert answer.body == b"data: 1\n\ndata: [DONE]\n\n"
    assert answer.whole
    assert (refused.status, refused.headers["connection"]) == (503, "close")
    assert refused.headers["retry-after"] == "2"
    assert json.loads(refused.body)["error"]["code"] == "shutting_down"


async def test_what_does_not_finish_in_time_is_told_why(engine: RawEngine, gateway: Gateway) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await call.gone()

    engine.answer = endless
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await client.receive(b"data: 1")
        assert await gateway.drain(0) == 1
        await gateway.stop()
        answer = await client.answer()
    assert b'data: {"error": {"message": "the server is shutting down"' in answer.body
    assert answer.whole
    assert gateway.state.in_flight == 0


async def test_stopping_without_draining_still_says_why(
    engine: RawEngine, gateway: Gateway, eventually: Eventually
) -> None:
    engine.answer = Call.gone
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await eventually(lambda: len(engine.calls) == 1)
        await gateway.stop()
        answer = await client.answer()
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (503, "shutting_down")


async def test_both_addresses_are_closed_after_stop(gateway: Gateway) -> None:
    await gateway.stop()
    for url in (gateway.public_url, gateway.admin_url):
        with pytest.raises(ConnectionRefusedError):
            await ask(url, get("/health/live"))
