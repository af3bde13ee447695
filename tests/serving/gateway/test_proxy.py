"""What crosses between client and engine, byte for byte and one by one."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import Call, RawClient, RawEngine, ask, chunked, fixed, get, post
from fakes.samples import total

from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
# What a proxy that decodes, splits lines or mends text would change: an emoji cut in two by a chunk, CRLF
# ends, a comment, no blank after the colon, a chunk of one byte, a byte that is no UTF-8.
AWKWARD = (
    b'data: {"a": "\xf0\x9f',
    b'\x98\x80"}\n\n',
    b": hello\r\n\r\n",
    b"data:x\n",
    b"\n",
    b"\xff\x00\n\n",
)


def counted(gateway: Gateway, outcome: str, code: str, *, revision: str = "main", path: str = CHAT) -> float:
    labels = {"path": path, "outcome": outcome, "code": code, "revision": revision}
    return total(gateway.metrics.registry, "teapot_gateway_requests_total", **labels) or 0.0


async def test_a_stream_arrives_byte_for_byte(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(SSE_HEAD + chunked(*AWKWARD) + b"0\r\n\r\n")
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, answer.body, answer.whole) == (200, b"".join(AWKWARD), True)
    assert answer.headers["content-type"] == "text/event-stream"


async def test_a_compressed_answer_is_not_decompressed(engine: RawEngine, gateway: Gateway) -> None:
    body = gzip.compress(b'{"object":"list"}', mtime=0)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: application/json\r\n"
    engine.answer = fixed(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    answer = await ask(gateway.public_url, post(CHAT, b"{}", "Accept-Encoding: gzip"))
    assert answer.body == body
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(body))
    assert engine.calls[0].header("accept-encoding") == "gzip"


async def test_an_answer_that_ends_with_its_connection_is_whole(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{}")
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, answer.body, answer.whole) == (200, b"{}", True)


async def test_each_event_arrives_before_the_next_is_sent(engine: RawEngine, gateway: Gateway) -> None:
    received = asyncio.Semaphore(0)

    async def one_by_one(call: Call) -> None:
        await call.send(SSE_HEAD)
        for index in range(5):
            await received.acquire()
            await call.send(chunked(b"data: %d\n\n" % index))
        await received.acquire()
        await call.send(b"0\r\n\r\n")

    engine.answer = one_by_one
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await client.receive(b"\r\n\r\n")  # The head comes before any event.
        received.release()
        for index in range(5):
            await client.receive(b"data: %d\n\n" % index)
            received.release()
        answer = await client.answer()
    assert answer.whole


async def test_the_engine_receives_the_body_as_it_was_sent(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    body = b'{"prompt": "\xe2\x82\xac",\n\t"broken'  # Not JSON: that is the engine's to say.
    await ask(
        gateway.public_url, post("/v1/completions?api-version=1", body, "Content-Type: application/json")
    )
    assert engine.calls[0].line == "POST /v1/completions HTTP/1.1"
    assert engine.calls[0].body == body
    assert engine.calls[0].header("content-type") == "application/json"


async def test_the_engine_receives_a_chunked_body_whole(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    await ask(gateway.public_url, head + chunked(b'{"a"', b": 1}") + b"0\r\n\r\n")
    assert engine.calls[0].body == b'{"a": 1}'


async def test_the_request_id_is_the_same_on_both_sides(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-request-id: the-engines-own\r\n\r\n{}")
    answer = await ask(gateway.public_url, post(CHAT, b"{}", "X-Request-Id: abc-123"))
    assert engine.calls[0].header("x-request-id") == "abc-123"
    assert answer.headers["x-request-id"] == "abc-123"


async def test_only_harmless_request_headers_reach_the_engine(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    sent = ("Authorization: Bearer secret", "Cookie: a=b", "X-data-parallel-rank: 3", "TE: trailers",
            "X-Forwarded-For: 1.2.3.4", "Proxy-Authorization: Basic x", "Keep-Alive: timeout=9",
            "Traceparent: 00-11-22-01")  # fmt: skip
    await ask(gateway.public_url, post(CHAT, b"{}", *sent))
    names = {line.partition(":")[0].lower() for line in engine.calls[0].head.split("\r\n")[1:]}
    assert names == {"host", "accept-encoding", "traceparent", "x-request-id", "content-length"}
    assert engine.calls[0].header("accept-encoding") == "identity"


async def test_only_harmless_answer_headers_reach_the_client(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(
        b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\nset-cookie: a=b\r\nvia: inner\r\nx-worker: http://10.0.0.1\r\n"
        b"keep-alive: timeout=5\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    )
    answer = await ask(gateway.public_url, post(CHAT))
    assert set(answer.headers) == {
        "content-type", "content-length", "server", "x-request-id", "date", "connection",
    }  # fmt: skip
    assert answer.headers["server"] == "teapot"


async def test_an_engines_redirect_does_not_show_its_address(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(
        b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n"
    )
    answer = await ask(gateway.public_url, post(CHAT))
    assert answer.status == 502
    assert b"10.0.0.1" not in answer.raw


async def test_an_engines_error_takes_openais_shape_and_keeps_its_message(
    engine: RawEngine, gateway: Gateway
) -> None:
    body = b'{"detail": "max_tokens is too large"}'
    head = b"HTTP/1.1 422 X\r\ncontent-type: application/json\r\nretry-after: 7\r\n"
    engine.answer = fixed(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    answer = await ask(gateway.public_url, post(CHAT, b"{}", "X-Request-Id: abc"))
    assert answer.status == 422
    assert json.loads(answer.body)["error"]["message"] == "max_tokens is too large"
    assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("abc", "7")
    assert counted(gateway, "rejected", "422") == 1


async def test_an_engines_own_failure_is_counted_as_one(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops")
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (500, "oops")
    assert counted(gateway, "upstream_error", "500") == 1


async def test_a_dead_engine_gives_503_with_retry_after_and_no_address(make_gateway: MakeGateway) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = await make_gateway(f"http://127.0.0.1:{port}")
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert json.loads(answer.body)["error"]["code"] == "engine_unreachable"
    assert str(port).encode() not in answer.body
    assert b"127.0.0.1" not in answer.raw
    assert counted(gateway, "upstream_error", "503") == 1


async def test_an_engine_that_does_not_accept_gives_503(make_gateway: MakeGateway) -> None:
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())  # The queue holds this one connection and is full.
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        gateway = await make_gateway(url, limits=GatewayLimits(connect_s=0.05))
        answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (503, "engine_unreachable")
    assert counted(gateway, "timeout", "503") == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"", "the engine closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-", "the engine closed the connection without an answer"),
        (b"\x00\x01garbage\r\n\r\n", "the engine's answer is not valid HTTP"),
    ],
)
async def test_an_engine_that_breaks_before_its_answer_gives_502(
    engine: RawEngine, gateway: Gateway, said: bytes, message: str
) -> None:
    engine.answer = fixed(said)
    answer = await ask(gateway.public_url, post(CHAT))
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["code"], error["message"]) == (502, "bad_upstream_answer", message)
    assert counted(gateway, "upstream_error", "502") == 1


async def test_an_engine_that_resets_gives_502(engine: RawEngine, gateway: Gateway) -> None:
    async def reset(call: Call) -> None:
        call.reset()

    engine.answer = reset
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (
        502, "the engine closed the connection without an answer",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "gap"),
    [
        pytest.param((b"data: 1\n\n",), b"", id="between events"),
        pytest.param((b"data: 1\r\n\r", b"\n"), b"", id="after an end in two chunks"),
        pytest.param((b"data: 1\n\nda", b"t"), b"\n\n", id="inside an event"),
        pytest.param((), b"", id="before the first event"),
    ],
)
async def test_a_broken_stream_ends_with_an_error_event(
    engine: RawEngine, gateway: Gateway, sent: tuple[bytes, ...], gap: bytes
) -> None:
    async def break_off(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(*sent))

    engine.answer = break_off
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, answer.whole) == (200, True)
    before = b"".join(sent) + gap + b"data: "
    assert answer.body.startswith(before)
    assert answer.body.endswith(b"}\n\n")
    assert (
        json.loads(answer.body.removeprefix(before))["error"]["message"] == "the engine broke off its answer"
    )
    assert counted(gateway, "upstream_error", "200") == 1


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"content-length: 100\r\n\r\n" + b'{"a":', id="content-length"),
        pytest.param(b"transfer-encoding: chunked\r\n\r\n" + chunked(b'{"a":'), id="chunked"),
    ],
)
async def test_a_broken_document_is_not_ended_cleanly(
    engine: RawEngine, gateway: Gateway, said: bytes
) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + said)
    answer = await ask(gateway.public_url, post(CHAT))
    assert not answer.whole
    assert counted(gateway, "upstream_error", "200") == 1


async def test_a_silent_engine_times_out_before_its_answer(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    engine.answer = Call.gone
    gateway = await make_gateway(engine.url, limits=GatewayLimits(first_byte_s=0.05))
    answer = await ask(gateway.public_url, post(CHAT))
    assert answer.status == 504
    assert json.loads(answer.body)["error"]["message"] == "the engine sent nothing for 0.05 s"
    assert counted(gateway, "timeout", "504") == 1


async def test_a_stall_inside_a_stream_ends_it_and_the_engines_work(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    aborted = asyncio.Event()

    async def stall(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await call.gone()
        aborted.set()

    engine.answer = stall
    gateway = await make_gateway(engine.url, limits=GatewayLimits(between_bytes_s=0.05))
    answer = await ask(gateway.public_url, post(CHAT))
    assert answer.body.startswith(b'data: 1\n\ndata: {"error"')
    assert counted(gateway, "timeout", "200") == 1
    await asyncio.wait_for(aborted.wait(), 5)


async def test_an_endless_stream_ends_at_the_total_limit(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE_HEAD)
        while True:
            await call.send(chunked(b"data: 1\n\n"))
            await asyncio.sleep(0.01)

    engine.answer = endless
    gateway = await make_gateway(engine.url, limits=GatewayLimits(total_s=0.1, between_bytes_s=0.06))
    answer = await ask(gateway.public_url, post(CHAT))
    assert b"the request was not finished after 0.1 s" in answer.body
    assert answer.body.startswith(b"data: 1\n\n")


async def test_a_body_that_does_not_come_times_out(engine: RawEngine, make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(body_s=0.05))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT, b"x" * 10)[:-5])
        assert (await client.receive(b"}}")).startswith(b"HTTP/1.1 408 ")
    assert engine.calls == []


async def test_twenty_streams_at_once_do_not_mix(engine: RawEngine, gateway: Gateway) -> None:
    async def echo(call: Call) -> None:
        await call.send(SSE_HEAD)
        for index in range(20):
            await call.send(chunked(b"data: %b %d\n\n" % (call.body, index)))
            await asyncio.sleep(0)
        await call.send(b"0\r\n\r\n")

    engine.answer = echo
    names = [b"%d" % number for number in range(20)]
    answers = await asyncio.gather(*(ask(gateway.public_url, post(CHAT, name)) for name in names))
    for name, answer in zip(names, answers, strict=True):
        assert answer.body == b"".join(b"data: %b %d\n\n" % (name, index) for index in range(20))
    assert counted(gateway, "ok", "200") == 20
    assert [backend.in_flight for backend in gateway.state.backends] == [0]


@pytest.mark.parametrize("begun", [False, True], ids=["before its answer", "inside a silent stream"])
async def test_a_client_that_leaves_ends_the_engines_work(
    engine: RawEngine, gateway: Gateway, eventually: Eventually, begun: bool
) -> None:
    aborted = asyncio.Event()

    async def wait(call: Call) -> None:
        if begun:
            await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await call.gone()
        aborted.set()

    engine.answer = wait
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await (client.receive(b"data: 1") if begun else eventually(lambda: len(engine.calls) == 1))
        assert gateway.state.in_flight == 1
        client.leave()
        await asyncio.wait_for(aborted.wait(), 5)
    await eventually(lambda: gateway.state.in_flight == 0)
    assert counted(gateway, "client_gone", "200" if begun else "none") == 1
    assert [backend.in_flight for backend in gateway.state.backends] == [0]


async def test_one_model_is_found_in_the_engines_list(engine: RawEngine, gateway: Gateway) -> None:
    body = b'{"object":"list","data":[{"id":"org/other"},{"id":"org/small","max_model_len":2048}]}'
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    answer = await ask(gateway.public_url, get("/v1/models/org/small"))
    assert engine.calls[0].line == "GET /v1/models HTTP/1.1"
    assert (answer.status, json.loads(answer.body)) == (200, {"id": "org/small", "max_model_len": 2048})
    missing = await ask(gateway.public_url, get("/v1/models/org/none"))
    assert (missing.status, json.loads(missing.body)["error"]["code"]) == (404, "model_not_found")
