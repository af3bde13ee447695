"""The whole public surface under seeded nonsense: no fault of ours, no answer in another shape."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fakes.raw_http import Call, RawAnswer, RawClient, RawEngine

from serving.gateway.keys import KeyEntry, digest_of
from serving.gateway.keys_file import write_keys
from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
LISTING = b'HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n{"data":[{"id":"small"}]}'
AT_ONCE = 20
PATHS = [
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/models", "/tokenize",
    "/detokenize", "/health/live", "/health/ready", "/v1/models/small", "/v1/models/a/b", "/", "/metrics",
]  # fmt: skip
FORWARDED = frozenset(PATHS[:7])
METHODS = [
    "GET",
    "POST",
    "HEAD",
    "OPTIONS",
    "PUT",
    "DELETE",
    "PATCH",
    "TRACE",
    "CONNECT",
    "post",
    "G\x00T",
    "",
]
HEADERS = [
    "Authorization: Bearer alices-key", "Authorization: Bearer \xff", "Authorization:", "X-Request-Id: a",
    "X-Request-Id: \x7f", "Origin: https://app.example", "Origin: null",
    "Access-Control-Request-Method: POST",
    "Content-Type: application/json", "Content-Type: \xfc", "Content-Encoding: gzip",
    "Accept: text/event-stream",
    "Accept-Encoding: br;q=x", "Connection: keep-alive", "Connection: upgrade", "Upgrade: websocket",
    "Upgrade: h2c",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Content-Length: 3",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999", "Content-Length: abc", "Expect: 100-continue", "Expect: 200-ok",
    "Host: evil.example", "Host:", "Cookie: a=b", "Traceparent: 00-x-y-z", "X-Data-Parallel-Rank: 5",
    "Range: bytes=0-1", "If-None-Match: *", "X-Session-Id: s", "Te: trailers", "Trailer: X",
    "Keep-Alive: max=0",
]  # fmt: skip
BODIES = [
    b"{}", b"", b'{"model":"gpt-4o","messages":[]}', b'{"model":"small","stream":true}', b"[" * 3000,
    b'{"model":',
    b"\xff\xfe", b"null", b'"model"',
    b'{"model":"gpt-4o","kv_transfer_params":{"remote_host":"x"}}', bytes(5000),
    b'{"kv_transfer_params":' * 2000, b'{"echo":true,"prompt":"x","model":7}', b'{"model":"\\ud800"}',
    b"1e999999",
    b'{"n":1e400,"kv_transfer_params":1}', b'{"kv_transfer_params":1,"kv_transfer_params":2}', b"9" * 5000,
]  # fmt: skip
WORDS = [
    "//",
    "/..",
    "/.",
    "%2e%2e",
    "%00",
    "?",
    "?key=x",
    "#",
    ";",
    "\\",
    "\xe9",
    "%",
    " ",
    "\x01",
    "@h",
    ":1",
]


def request(dice: random.Random) -> bytes:
    """One request: mostly well-formed with one or two things wrong, sometimes bytes at random."""
    if dice.random() < 0.05:
        return dice.randbytes(dice.randrange(1, 400)) + b"\r\n\r\n"
    target = dice.choice(PATHS)
    if dice.random() < 0.3:
        at = dice.randrange(len(target) + 1)
        target = target[:at] + dice.choice(WORDS) + target[at:]
    method = dice.choice(METHODS) if dice.random() < 0.4 else dice.choice(["GET", "POST"])
    version = (
        dice.choice(["HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "HTTP/1", "XTTP/1.1"])
        if dice.random() < 0.1
        else "HTTP/1.1"
    )
    body = dice.choice(BODIES)
    headers = dice.sample(HEADERS, dice.randrange(3))
    if dice.random() < 0.7:
        headers.append("Authorization: Bearer alices-key")
    if dice.random() < 0.9 and method != "GET":
        headers.append(f"Content-Length: {len(body)}")
    dice.shuffle(headers)
    line_end = "\n" if dice.random() < 0.05 else "\r\n"
    head = line_end.join([f"{method} {target} {version}", "Host: x", "Connection: close", *headers, "", ""])
    whole = bytearray(head.encode("latin-1") + (body if method != "GET" else b""))
    if dice.random() < 0.15:
        for _ in range(dice.randrange(1, 4)):
            whole[dice.randrange(len(whole))] = dice.randrange(256)
    return bytes(whole[: dice.randrange(len(whole))] if dice.random() < 0.05 else whole)


async def told(url: str, data: bytes) -> RawAnswer | None:
    """The first answer to these bytes, None if the connection was closed without one."""
    async with RawClient.connect(url) as client:
        try:
            await client.send(data)
            return await client.answer()
        except (ConnectionError, IndexError, ValueError):
            return None


def check(data: bytes, answer: RawAnswer) -> None:
    said = f"{data[:300]!r} was answered {answer.raw[:600]!r}"
    assert answer.status != 500, said
    assert b"aiohttp" not in answer.raw.lower(), said
    assert b"traceback" not in answer.raw.lower(), said
    if answer.status == 100:
        return  # What follows is another answer.
    assert answer.headers["x-request-id"], said
    assert answer.headers["server"] == "teapot", said
    if answer.status >= 400 and not data.startswith(b"HEAD"):
        start = answer.body.find(b"{")
        error = json.JSONDecoder().raw_decode(answer.body[start:].decode())[0]["error"]
        assert set(error) == {"message", "type", "param", "code"}, said
        assert error["message"], said


async def fuzz(gateway: Gateway, seed: int, count: int) -> Counter[int]:
    dice = random.Random(seed)
    slots = asyncio.Semaphore(AT_ONCE)
    seen: Counter[int] = Counter()

    async def one(data: bytes) -> None:
        async with slots:
            answer = await told(gateway.public_url, data)
        if answer is not None:
            seen[answer.status] += 1
            check(data, answer)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(one(request(dice)))
    return seen


@pytest.fixture
async def fuzzed(engine: RawEngine, make_gateway: MakeGateway, tmp_path: Path) -> Gateway:
    async def answer(call: Call) -> None:
        await call.send(LISTING if call.line.startswith("GET") else OK)

    engine.answer = answer
    write_keys(tmp_path / "keys.yaml", [KeyEntry("alice", digest_of("alices-key"))])
    settings = EdgeSettings(
        keys_file=tmp_path / "keys.yaml", aliases={"gpt-4o": "small"}, cors_origins=frozenset({"https://app.example"}),
        max_in_flight=5, queue=100,
    )  # fmt: skip
    limits = GatewayLimits(idle_client_s=0.3, body_s=0.3, farewell_s=0.2)
    return await make_gateway(engine.url, limits=limits, settings=settings)


@pytest.mark.parametrize(("seed", "count"), [(1, 400), pytest.param(2, 6000, marks=pytest.mark.slow)])
async def test_nonsense_finds_no_fault_of_ours(
    engine: RawEngine,
    fuzzed: Gateway,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
    seed: int,
    count: int,
) -> None:
    seen = await fuzz(fuzzed, seed, count)
    # It is a test of the surface only if it gets everywhere.
    assert {200, 400, 401, 404, 405} <= seen.keys()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    for call in engine.calls:
        method, path, _ = call.line.split(" ")
        assert path in FORWARDED
        assert method == ("GET" if path == "/v1/models" else "POST")
        assert call.header("authorization") is None
        assert call.header("x-data-parallel-rank") is None
        assert b"kv_transfer_params" not in call.body
    await eventually(lambda: fuzzed.state.in_flight == 0)
