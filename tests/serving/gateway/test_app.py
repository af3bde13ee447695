"""What the public address answers by itself, and that every request is recorded."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import RawClient, RawEngine, ask, chunked, fixed, get, post

from serving.gateway.access_log import access_line
from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]

CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


def code_of(body: bytes) -> str:
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert error["type"]
    return str(error["code"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        "/", "/v1", "/v1/", "/metrics", "/docs", "/invocations", "/v1/rerank", "/reset_prefix_cache",
        "/sleep", "/wake_up", "/collective_rpc", "/load", "/server_info", "/version", "/ping", "/health",
        "/pause", "/v1/load_lora_adapter", "/v1/responses/x", "/scale_elastic_ep", "/inference/v1/generate",
        "/tokenizer_info",
        "//v1/chat/completions", "/v1//chat/completions", "/v1/chat/completions/", "/V1/chat/completions",
        "/v1/x/../chat/completions", "/v1/./chat/completions", "/v1/%63hat/completions",
        "/v1%2fchat%2fcompletions",
        "/v1/chat/completions%00", "/v1/chat/completions;x", "/v1/chat/completions#x",
        "/v1/models/..", "/v1/models/../../metrics", "/v1/models/%2e%2e/metrics", "/v1/models//x",
        "/v1/models/x/../../../metrics", "http://127.0.0.1:1/v1/chat/completions", "*",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_nothing_behind_is_reached_by_another_path(
    engine: RawEngine, gateway: Gateway, target: str, method: str
) -> None:
    answer = await ask(gateway.public_url, get(target, method=method))
    assert answer.status in (400, 404)
    assert code_of(answer.body) == {400: "invalid_http", 404: "unknown_url"}[answer.status]
    assert answer.headers["x-request-id"]
    assert engine.calls == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", CHAT, "POST"), ("OPTIONS", CHAT, "POST"), ("DELETE", "/v1/models", "GET"),
     ("POST", "/v1/models/small", "GET"), ("POST", "/health/live", "GET, HEAD")],
)  # fmt: skip
async def test_a_wrong_method_is_told_the_right_one(
    engine: RawEngine, gateway: Gateway, method: str, path: str, allowed: str
) -> None:
    answer = await ask(gateway.public_url, get(path, method=method))
    assert (answer.status, answer.headers["allow"]) == (405, allowed)
    assert code_of(answer.body) == "method_not_allowed"
    assert engine.calls == []


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/responses", "/v1/embeddings", "/tokenize",
                                  "/detokenize"])  # fmt: skip
async def test_what_is_allowed_reaches_the_engine(engine: RawEngine, gateway: Gateway, path: str) -> None:
    engine.answer = fixed(OK)
    assert (await ask(gateway.public_url, post(path))).status == 200
    assert engine.calls[0].line == f"POST {path} HTTP/1.1"


async def test_the_list_of_models_reaches_the_engine(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(OK)
    assert (await ask(gateway.public_url, get("/v1/models"))).body == b"{}"


async def test_a_body_announced_too_long_is_refused_unread(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(max_body_bytes=10))
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT, b"x" * 11)[:-11])
        seen = await client.receive(b"}}")
    assert seen.startswith(b"HTTP/1.1 413 ")
    assert engine.calls == []


async def test_a_body_that_grows_too_long_is_refused(engine: RawEngine, make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(engine.url, limits=GatewayLimits(max_body_bytes=10))
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await ask(gateway.public_url, head.encode() + chunked(b"x" * 6, b"x" * 6) + b"0\r\n\r\n")
    assert (answer.status, code_of(answer.body)) == (413, "request_too_large")
    assert engine.calls == []


async def test_a_body_of_just_the_limit_is_taken(engine: RawEngine, make_gateway: MakeGateway) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, limits=GatewayLimits(max_body_bytes=10))
    assert (await ask(gateway.public_url, post(CHAT, b"x" * 10))).status == 200


async def test_a_client_that_asks_first_is_told_to_go_on(engine: RawEngine, gateway: Gateway) -> None:
    engine.answer = fixed(OK)
    request = post(CHAT, b'{"a": 1}', "Expect: 100-continue")
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(request[:-8])
        await client.receive(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(request[-8:])
        assert b"HTTP/1.1 200 OK\r\n" in await client.receive(b"{}")
    assert engine.calls[0].body == b'{"a": 1}'


@pytest.mark.parametrize("offered", ["", "a b", "x" * 129, "caf\xe9", "tab\tin"])
async def test_an_unfit_request_id_is_replaced(engine: RawEngine, gateway: Gateway, offered: str) -> None:
    engine.answer = fixed(OK)
    answer = await ask(gateway.public_url, post(CHAT, b"{}", f"X-Request-Id: {offered}"))
    used = answer.headers["x-request-id"]
    assert used
    assert used != offered
    assert engine.calls[0].header("x-request-id") == used


async def test_errors_carry_the_clients_request_id(gateway: Gateway) -> None:
    answer = await ask(gateway.public_url, get("/nowhere", "X-Request-Id: mine"))
    assert answer.headers["x-request-id"] == "mine"


async def test_it_is_alive_at_once_and_ready_when_opened(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(opened=False)

    async def statuses() -> list[int]:
        answers = [await ask(gateway.public_url, get(f"/health/{name}")) for name in ("live", "ready")]
        return [answer.status for answer in answers]

    assert await statuses() == [200, 503]
    backend = Backend("http://127.0.0.1:9", state="ready")
    gateway.add(backend)
    assert await statuses() == [200, 503]
    gateway.open(())
    assert await statuses() == [200, 200]
    backend.state = "down"
    assert await statuses() == [200, 503]
    backend.state = "ready"
    await gateway.drain(0)
    assert await statuses() == [200, 503]


async def test_a_probe_may_ask_with_head(gateway: Gateway) -> None:
    answer = await ask(gateway.public_url, get("/health/ready", method="HEAD"))
    assert (answer.status, answer.body) == (200, b"")


async def test_a_request_before_the_engine_is_ready_is_told_to_come_back(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway("http://127.0.0.1:9", opened=False)
    for request in (post(CHAT), get("/v1/models"), get("/health/ready")):
        answer = await ask(gateway.public_url, request)
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert json.loads(answer.body)["error"]["message"] == "the engine is starting"


async def test_a_request_without_a_ready_engine_is_told_so(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway()
    answer = await ask(gateway.public_url, post(CHAT))
    assert (answer.status, code_of(answer.body)) == (503, "no_engine_ready")


async def test_our_own_fault_is_a_500_that_says_nothing_of_the_inside(
    engine: RawEngine, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.state.backends.add(Backend(None, state="ready", in_flight=-1))  # type: ignore[arg-type]
    answer = await ask(gateway.public_url, post(CHAT, b"{}", "X-Request-Id: mine"))
    assert (answer.status, code_of(answer.body)) == (500, "gateway_error")
    assert b"NoneType" not in answer.raw
    assert "request mine failed" in caplog.text
    assert gateway.state.in_flight == 0


async def test_the_access_log_has_no_prompt_key_or_query(
    engine: RawEngine, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    engine.answer = fixed(OK)
    with caplog.at_level(logging.INFO, logger="teapot.gateway.access"):
        await ask(
            gateway.public_url,
            post(f"{CHAT}?key=hidden1", b"hidden2", "Authorization: Bearer hidden3", "X-Request-Id: mine"),
        )
    (line,) = [record.getMessage() for record in caplog.records if record.name == "teapot.gateway.access"]
    assert line.startswith(f"mine {CHAT} 200 ok ")
    assert line.endswith("ms in=7 out=2")
    assert "hidden" not in line


async def test_the_access_log_is_off_by_default(
    engine: RawEngine, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    engine.answer = fixed(OK)
    await ask(gateway.public_url, post(CHAT))
    assert [r for r in caplog.records if r.name == "teapot.gateway.access"] == []


def test_an_access_line_shows_a_missing_status_as_a_dash() -> None:
    exchange = Exchange("mine", CHAT, accepted_ns=1_000_000, kind="client_gone", bytes_in=3)
    assert access_line(exchange.outcome(2_500_000)) == f"mine {CHAT} - client_gone 1.5ms in=3 out=0"
