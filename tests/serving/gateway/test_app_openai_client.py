"""The official client, unchanged, through the gateway to one engine that behaves like vLLM, and to a pair."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import openai
import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, cut, stream, text_answer

from serving.gateway.backends import Backend
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.server import Gateway

MakeGateway = Callable[..., Awaitable[Gateway]]
ASK: list[dict[str, str]] = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start("--served-model-name", "small", "--ttft", "0", "--itl", "0") as engine:
        yield engine


@pytest.fixture(scope="module")
def prefiller() -> Iterator[ScriptedEngine]:
    words = ("--served-model-name", "small", "--hand-over", "blocks", "--ttft", "0", "--itl", "0")
    with ScriptedEngine.start(*words) as engine:
        yield engine


@pytest.fixture(params=["one engine", "a pair"])
async def gateway(
    request: pytest.FixtureRequest,
    scripted: ScriptedEngine,
    prefiller: ScriptedEngine,
    make_gateway: MakeGateway,
) -> AsyncIterator[Gateway]:
    scripted.reset()
    prefiller.reset()
    if request.param == "one engine":
        yield await make_gateway(scripted.url)
        return
    gateway = Gateway("demo", routing=RoutingSettings(prefill_from_tokens=1))
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    gateway.add(Backend(prefiller.url, role="prefill", state="ready"))
    gateway.add(Backend(scripted.url, role="decode", state="ready"))
    gateway.open(())
    yield gateway
    await gateway.stop()


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"{gateway.public_url}/v1", api_key="none", max_retries=0
    ) as client:
        yield client


async def streamed(client: openai.AsyncOpenAI, model: str) -> str:
    text = ""
    async with await client.chat.completions.create(model=model, messages=ASK, stream=True) as events:  # type: ignore[arg-type]
        async for event in events:
            text += (event.choices[0].delta.content or "") if event.choices else ""
    return text


@pytest.mark.slow
async def test_a_chat_answer_comes_whole(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(
        model="small", messages=ASK, max_tokens=3, extra_headers={"X-Request-Id": "abc"}  # type: ignore[arg-type]
    )  # fmt: skip
    assert answer.id == "chatcmpl-abc"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 3
    assert answer._request_id == "abc"


async def test_a_chat_stream_has_every_word(scripted: ScriptedEngine, client: openai.AsyncOpenAI) -> None:
    scripted.define(stream("words", ttft_s=0, gap_s=0.001, chunks=5))
    assert await streamed(client, "words") == " w0 w1 w2 w3 w4"


async def test_a_completion_comes_whole_and_streamed(client: openai.AsyncOpenAI) -> None:
    whole = await client.completions.create(model="small", prompt="hello", max_tokens=4, temperature=0)
    parts = await client.completions.create(
        model="small", prompt="hello", max_tokens=4, temperature=0, stream=True
    )
    text = "".join([part.choices[0].text async for part in parts if part.choices])
    assert text == whole.choices[0].text != ""


async def test_models_are_listed_and_retrieved(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["small"]
    assert (await client.models.retrieve("small")).owned_by == "vllm"
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("none")
    assert caught.value.code == "model_not_found"


async def test_an_unknown_model_is_the_clients_not_found(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="none"):
        await client.chat.completions.create(model="none", messages=ASK)  # type: ignore[arg-type]


async def test_invalid_json_is_the_engines_to_refuse(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/completions", cast_to=object, content=b"{broken")
    assert caught.value.request_id
    assert caught.value.type == "invalid_request_error"


async def test_an_engines_plain_text_failure_is_an_error_with_a_message(
    scripted: ScriptedEngine, client: openai.AsyncOpenAI
) -> None:
    scripted.define(text_answer("crash", "engine core died", status=500))
    with pytest.raises(openai.InternalServerError, match="engine core died") as caught:
        await client.chat.completions.create(model="crash", messages=ASK)  # type: ignore[arg-type]
    assert caught.value.type == "server_error"


async def test_an_unknown_address_is_the_clients_not_found(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        await client.moderations.create(model="small", input="x")


async def test_a_draining_gateway_is_a_status_error(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    await gateway.drain(0)
    with pytest.raises(openai.APIStatusError) as caught:
        await client.models.list()
    assert (caught.value.status_code, caught.value.code) == (503, "shutting_down")


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_a_stream_the_engine_cuts_is_an_error_and_not_a_short_answer(
    scripted: ScriptedEngine, client: openai.AsyncOpenAI, how: str
) -> None:
    scripted.define(cut(stream("cut", ttft_s=0, gap_s=0.001), keep=3, how=how))  # type: ignore[arg-type]
    with pytest.raises(openai.APIError, match="the engine broke off its answer"):
        await streamed(client, "cut")


async def test_an_error_inside_a_stream_is_the_engines_own(
    scripted: ScriptedEngine, client: openai.AsyncOpenAI
) -> None:
    whole = stream("mid", ttft_s=0, gap_s=0.001)
    error = Events().error(0.01, "out of blocks")
    scripted.define(type(whole)("mid", (*whole.steps[:2], error, whole.steps[-1])))
    with pytest.raises(openai.APIError, match="out of blocks"):
        await streamed(client, "mid")


async def test_prompts_can_be_measured_in_tokens(
    scripted: ScriptedEngine, client: openai.AsyncOpenAI
) -> None:
    root = str(client.base_url).removesuffix("/v1/")
    response = await client.post(
        f"{root}/tokenize", cast_to=object, body={"model": "small", "prompt": "a b c"}
    )
    assert json.loads(json.dumps(response))["count"] > 0
