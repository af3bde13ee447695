"""Keys, rates, places, aliases and origins, as a client meets them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import openai
import pytest
from fakes.raw_http import Call, RawAnswer, RawClient, RawEngine, ask, fixed, get, post
from fakes.samples import total

from serving.gateway.keys import KeyEntry, digest_of
from serving.gateway.keys_file import write_keys
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
KEY = "Authorization: Bearer alices-key"
LISTING = b'{"object":"list","data":[{"id":"small","object":"model"}]}'


def error_of(answer: RawAnswer) -> tuple[int, str, str]:
    error = json.loads(answer.body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status, error["type"], error["code"]


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.yaml"
    write_keys(path, [KeyEntry("alice", digest_of("alices-key"), requests_per_minute=3)])
    return path


@pytest.mark.parametrize(
    ("headers", "code"),
    [((), "missing_api_key"), (("Authorization: Bearer wrong",), "invalid_api_key"),
     (("Authorization: Basic x",), "missing_api_key"),
     (("Authorization: Bearer \xff\xfe",), "invalid_api_key"),
     (("Api-Key: alices-key",), "missing_api_key")],
)  # fmt: skip
@pytest.mark.parametrize("request_of", [post, get])
async def test_no_engine_hears_of_a_request_without_a_key(
    engine: RawEngine, make_gateway: MakeGateway, keys_file: Path, headers: tuple[str, ...], code: str,
    request_of: Callable[..., bytes],
) -> None:  # fmt: skip
    gateway = await make_gateway(engine.url, settings=EdgeSettings(keys_file=keys_file))
    request = post(CHAT, b"{}", *headers) if request_of is post else get("/v1/models", *headers)
    answer = await ask(gateway.public_url, request)
    assert error_of(answer) == (401, "authentication_error", code)
    assert answer.headers["www-authenticate"] == 'Bearer realm="teapot"'
    assert engine.calls == []


async def test_a_key_opens_and_stays_at_the_edge(
    engine: RawEngine, make_gateway: MakeGateway, keys_file: Path
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(keys_file=keys_file))
    assert (await ask(gateway.public_url, post(CHAT, b"{}", KEY))).status == 200
    assert engine.calls[0].header("authorization") is None


async def test_load_balancers_need_no_key(make_gateway: MakeGateway, keys_file: Path) -> None:
    gateway = await make_gateway("http://127.0.0.1:9", settings=EdgeSettings(keys_file=keys_file))
    for path in ("/health/live", "/health/ready"):
        assert (await ask(gateway.public_url, get(path))).status == 200


@pytest.mark.slow
async def test_the_official_client_raises_its_own_exceptions(
    engine: RawEngine, make_gateway: MakeGateway, keys_file: Path
) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(LISTING), LISTING))
    gateway = await make_gateway(engine.url, settings=EdgeSettings(keys_file=keys_file))
    base = f"{gateway.public_url}/v1"
    async with openai.AsyncOpenAI(base_url=base, api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()
    async with openai.AsyncOpenAI(base_url=base, api_key="alices-key", max_retries=0) as client:
        for _ in range(3):
            await client.models.list()
        with pytest.raises(openai.RateLimitError) as caught:
            await client.models.list()
    assert caught.value.code == "rate_limit_exceeded"
    # 3 a minute: the next comes 20 s after the first, less what has passed.
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 20


async def test_tokens_that_the_engine_counted_are_held_against_the_key(
    engine: RawEngine, make_gateway: MakeGateway, tmp_path: Path
) -> None:
    write_keys(tmp_path / "k", [KeyEntry("alice", digest_of("alices-key"), tokens_per_minute=100)])
    body = b'{"choices":[],"usage":{"prompt_tokens":90,"total_tokens":190,"completion_tokens":100}}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    engine.answer = fixed(head % len(body) + body)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(keys_file=tmp_path / "k"))
    assert (await ask(gateway.public_url, post(CHAT, b"{}", KEY))).status == 200
    answer = await ask(gateway.public_url, post(CHAT, b"{}", KEY))
    assert error_of(answer) == (429, "rate_limit_error", "rate_limit_exceeded")
    # 190 of 100 are used: 90 to pay back and one to have, at 100 a minute.
    assert 50 <= int(answer.headers["retry-after"]) <= 55


async def test_who_finds_no_place_waits_and_then_is_served(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    go_on = asyncio.Event()

    async def slow(call: Call) -> None:
        await go_on.wait()
        await call.send(OK)

    engine.answer = slow
    settings = EdgeSettings(max_in_flight=2, queue=2, queue_timeout_s=60)
    gateway = await make_gateway(engine.url, settings=settings)
    asked = [asyncio.create_task(ask(gateway.public_url, post(CHAT))) for _ in range(4)]
    await eventually(lambda: gateway.state.in_flight == 4)
    queued = partial(total, gateway.metrics.registry, "teapot_gateway_queued")
    await eventually(lambda: queued() == 2)
    turned_away = await ask(gateway.public_url, post(CHAT))
    assert error_of(turned_away) == (503, "service_unavailable_error", "queue_full")
    assert turned_away.headers["retry-after"] == "2"
    assert len(engine.calls) == 2
    go_on.set()
    assert [answer.status for answer in await asyncio.gather(*asked)] == [200] * 4
    assert (gateway.state.in_flight, queued()) == (0, 0)


async def test_who_waits_too_long_is_told_so_and_reaches_no_engine(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = Call.gone
    settings = EdgeSettings(max_in_flight=1, queue=1, queue_timeout_s=0.02)
    gateway = await make_gateway(engine.url, settings=settings)
    async with RawClient.connect(gateway.public_url) as first:
        await first.send(post(CHAT))
        await eventually(lambda: len(engine.calls) == 1)
        answer = await ask(gateway.public_url, post(CHAT))
    assert error_of(answer) == (503, "service_unavailable_error", "queue_timeout")
    assert len(engine.calls) == 1


async def test_a_client_that_leaves_the_queue_frees_its_place_in_it(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = Call.gone
    gateway = await make_gateway(engine.url, settings=EdgeSettings(max_in_flight=1, queue=1))
    async with RawClient.connect(gateway.public_url) as first:
        await first.send(post(CHAT))
        await eventually(lambda: len(engine.calls) == 1)
        async with RawClient.connect(gateway.public_url) as second:
            await second.send(post(CHAT))
            await eventually(lambda: gateway.state.in_flight == 2)
        await eventually(lambda: gateway.state.in_flight == 1)
        async with RawClient.connect(gateway.public_url) as third:
            await third.send(post(CHAT))
            await eventually(lambda: gateway.state.in_flight == 2)
    await eventually(lambda: gateway.state.in_flight == 0)


async def test_an_alias_reaches_the_engine_as_the_models_name(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(aliases={"gpt-4o": "small"}))
    await ask(gateway.public_url, post(CHAT, b'{"model": "gpt-4o", "temperature": 1.0}'))
    assert engine.calls[0].body == b'{"model": "small", "temperature": 1.0}'


async def test_an_encoded_body_is_not_searched_for_aliases(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(aliases={"gpt-4o": "small"}))
    await ask(gateway.public_url, post(CHAT, b'{"model":"gpt-4o"}', "Content-Encoding: br"))
    assert engine.calls[0].body == b'{"model":"gpt-4o"}'


async def test_aliases_are_listed(engine: RawEngine, make_gateway: MakeGateway) -> None:
    engine.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(LISTING), LISTING))
    gateway = await make_gateway(engine.url, settings=EdgeSettings(aliases={"gpt-4o": "small"}))
    answer = await ask(gateway.public_url, get("/v1/models"))
    assert [row["id"] for row in json.loads(answer.body)["data"]] == ["small", "gpt-4o"]
    one = await ask(gateway.public_url, get("/v1/models/gpt-4o"))
    assert json.loads(one.body)["id"] == "gpt-4o"


ORIGIN = "Origin: https://app.example"


async def test_without_origins_no_page_is_answered(engine: RawEngine, gateway: Gateway) -> None:
    question = get(CHAT, ORIGIN, "Access-Control-Request-Method: POST", method="OPTIONS")
    answer = await ask(gateway.public_url, question)
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_listed_page_may_ask_without_a_key_and_read_answers_and_errors(
    engine: RawEngine, make_gateway: MakeGateway, keys_file: Path
) -> None:
    engine.answer = fixed(OK)
    settings = EdgeSettings(keys_file=keys_file, cors_origins=frozenset({"https://app.example"}))
    gateway = await make_gateway(engine.url, settings=settings)
    question = get(CHAT, ORIGIN, "Access-Control-Request-Method: POST", method="OPTIONS")
    asked = await ask(gateway.public_url, question)
    assert (asked.status, asked.headers["access-control-allow-methods"]) == (204, "POST")
    for request, status in ((post(CHAT, b"{}", ORIGIN, KEY), 200), (post(CHAT, b"{}", ORIGIN), 401)):
        answer = await ask(gateway.public_url, request)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (
            status,
            "https://app.example",
        )
    stranger = await ask(gateway.public_url, post(CHAT, b"{}", "Origin: https://evil.example", KEY))
    assert "access-control-allow-origin" not in stranger.headers


async def test_a_leaving_gateway_takes_requests_but_says_that_no_more_should_come(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(grace_s=3600))
    leaving = asyncio.create_task(gateway.withdraw())
    await eventually(lambda: gateway.state.phase == "leaving")
    assert (await ask(gateway.public_url, get("/health/ready"))).status == 503
    assert (await ask(gateway.public_url, get("/health/live"))).status == 200
    assert (await ask(gateway.public_url, post(CHAT))).status == 200
    leaving.cancel()
