"""A prefilling and a decoding engine of raw bytes behind a gateway: every way their legs can go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from fakes.raw_http import Call, RawAnswer, RawClient, RawEngine, ask, chunked, fixed, post
from fakes.samples import total

from serving.gateway.backends import Backend
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.server import Gateway

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
CHAT = "/v1/chat/completions"
SECRET = "10.9.8.7"
PARAMS = {
    "do_remote_prefill": True, "do_remote_decode": False, "remote_engine_id": "e", "remote_block_ids": [[1]],
    "remote_host": SECRET, "remote_port": 5600,
}  # fmt: skip
LONG = "word " * 100
ROLE = b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
WORD = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = SSE_HEAD + chunked(ROLE, WORD, DONE) + b"0\r\n\r\n"


def document(value: object, status: int = 200) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        status, len(body), body,
    )  # fmt: skip


PREFILLED = document({"id": "x", "choices": [{}], "kv_transfer_params": PARAMS})
FAILED_STREAM = SSE_HEAD + chunked(
    ROLE, b'data: {"error":{"message":"Internal server error","code":500}}\n\n'
)


class Pair:
    """Both engines and the gateway before them."""

    def __init__(self, prefill: RawEngine, decode: RawEngine, gateway: Gateway) -> None:
        self.prefill = prefill
        self.decode = decode
        self.gateway = gateway
        prefill.answer, decode.answer = fixed(PREFILLED), fixed(STREAM)

    async def chat(self, **fields: object) -> RawAnswer:
        body = {"messages": [{"role": "user", "content": LONG}], "stream": True, **fields}
        return await ask(self.gateway.public_url, post(CHAT, json.dumps(body).encode(), "X-Request-Id: abc"))

    def second(self, index: int = -1) -> dict[str, object]:
        return json.loads(self.decode.calls[index].body)

    def fallbacks(self, reason: str) -> float | None:
        name = "teapot_gateway_fallbacks_total"
        return total(self.gateway.metrics.registry, name, reason=reason, revision="main")

    @property
    def busy(self) -> int:
        return sum(backend.in_flight for backend in self.gateway.state.backends)


@asynccontextmanager
async def running(**settings: object) -> AsyncIterator[Pair]:
    async with RawEngine().listening() as prefill, RawEngine().listening() as decode:
        gateway = Gateway("demo", routing=RoutingSettings(**settings))
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
        gateway.add(Backend(prefill.url, role="prefill", state="ready"))
        gateway.add(Backend(decode.url, role="decode", state="ready"))
        gateway.open(())
        try:
            yield Pair(prefill, decode, gateway)
        finally:
            await gateway.stop()


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with running() as made:
        yield made


async def test_the_two_legs_are_one_request_to_the_client(pair: Pair) -> None:
    answer = await pair.chat(stream_options={"include_usage": True}, max_completion_tokens=9)
    assert (answer.status, answer.body, answer.whole) == (200, ROLE + WORD + DONE, True)
    (first,) = pair.prefill.calls
    sent = json.loads(first.body)
    assert (sent["max_tokens"], sent["max_completion_tokens"], sent["n"], sent["stream"]) == (1, 1, 1, False)
    assert "stream_options" not in sent
    assert pair.second()["kv_transfer_params"] == PARAMS
    assert first.header("x-request-id") == pair.decode.calls[0].header("x-request-id") == "abc"
    assert SECRET.encode() not in answer.raw
    assert total(pair.gateway.metrics.registry, "teapot_gateway_prefill_leg_seconds_count") == 1
    assert pair.busy == 0


async def test_a_clients_own_params_reach_neither_engine(pair: Pair) -> None:
    await pair.chat(kv_transfer_params={"remote_host": "evil"})
    assert pair.second()["kv_transfer_params"] == PARAMS
    await pair.chat(kv_transfer_params={"remote_host": "evil"}, messages="short")
    assert "kv_transfer_params" not in pair.second()
    assert b"evil" not in b"".join(call.body for call in (*pair.prefill.calls, *pair.decode.calls))


@pytest.mark.parametrize("fields", [{"messages": "short"}, {"echo": True}, {"prompt_logprobs": 0}])
async def test_what_is_short_or_cannot_be_divided_skips_the_prefiller(
    pair: Pair, fields: dict[str, object]
) -> None:
    assert (await pair.chat(**fields)).status == 200
    assert pair.prefill.calls == []
    assert pair.fallbacks("prefill_failed") is None


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(document({"error": "no"}, 503), id="refuses"),
        pytest.param(document({"error": "no"}, 500), id="fails"),
        pytest.param(document({"error": "no"}, 400), id="finds fault"),
        pytest.param(document({"choices": [{}]}), id="gives no params"),
        pytest.param(document({"kv_transfer_params": None}), id="gives null"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", id="breaks off"),
        pytest.param(b"\x00garbage\r\n\r\n", id="speaks nonsense"),
        pytest.param(b"", id="closes"),
    ],
)
async def test_a_prefiller_that_fails_leaves_the_decoder_alone_and_is_counted(
    pair: Pair, said: bytes
) -> None:
    pair.prefill.answer = fixed(said)
    assert (await pair.chat()).body == ROLE + WORD + DONE
    assert "kv_transfer_params" not in pair.second()
    assert pair.fallbacks("prefill_failed") == 1
    assert pair.busy == 0


async def test_a_prefiller_that_is_dead_or_down_costs_no_request(pair: Pair) -> None:
    prefill, _ = pair.gateway.state.backends
    prefill.url = "http://127.0.0.1:1"
    assert (await pair.chat()).status == 200
    prefill.state = "down"
    assert (await pair.chat()).status == 200
    assert pair.fallbacks("prefill_failed") == 2


async def test_a_slow_prefiller_is_given_up_and_its_work_ended() -> None:
    aborted = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.gone()
        aborted.set()

    async with running(prefill_s=0.05) as pair:
        pair.prefill.answer = slow
        assert (await pair.chat()).body == ROLE + WORD + DONE
        await asyncio.wait_for(aborted.wait(), 5)
        assert pair.fallbacks("prefill_failed") == 1


async def test_a_failed_prefill_is_an_error_where_that_is_wanted() -> None:
    async with running(on_prefill_failure="error") as pair:
        pair.prefill.answer = fixed(b"")
        answer = await pair.chat()
        assert (answer.status, json.loads(answer.body)["error"]["code"]) == (503, "prefill_failed")
        assert pair.decode.calls == []


@pytest.mark.parametrize("said", [FAILED_STREAM, document({"error": "Internal server error"}, 500), b""])
async def test_blocks_that_do_not_come_cost_one_more_try_without_transfer(pair: Pair, said: bytes) -> None:
    async def once(call: Call) -> None:
        await call.send(said if len(pair.decode.calls) == 1 else STREAM)

    pair.decode.answer = once
    assert (await pair.chat()).body == ROLE + WORD + DONE
    assert ["kv_transfer_params" in json.loads(call.body) for call in pair.decode.calls] == [True, False]
    assert len(pair.prefill.calls) == 1
    assert pair.fallbacks("transfer_failed") == 1
    assert pair.busy == 0


async def test_a_second_failure_is_the_clients_to_see(pair: Pair) -> None:
    pair.decode.answer = fixed(document({"error": {"message": "out of memory"}}, 500))
    answer = await pair.chat()
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (500, "out of memory")
    assert len(pair.decode.calls) == 2


async def test_a_fault_of_the_request_itself_is_not_tried_again(pair: Pair) -> None:
    pair.decode.answer = fixed(document({"error": {"message": "bad tool"}}, 400))
    assert (await pair.chat()).status == 400
    assert len(pair.decode.calls) == 1


async def test_params_in_a_whole_answer_do_not_reach_the_client(pair: Pair) -> None:
    usage = {"prompt_tokens": 100, "total_tokens": 103, "completion_tokens": 3}
    said = {"id": "chatcmpl-abc", "choices": [], "usage": usage, "kv_transfer_params": PARAMS}
    pair.decode.answer = fixed(document(said))
    answer = await pair.chat(stream=False)
    assert SECRET.encode() not in answer.raw
    assert json.loads(answer.body) == {**said, "kv_transfer_params": None}
    assert total(pair.gateway.metrics.registry, "teapot_gateway_output_tokens_total", role="decode") == 3


@pytest.mark.parametrize("leg", ["prefill", "decode"])
async def test_a_client_that_leaves_ends_the_leg_that_runs(
    pair: Pair, eventually: Eventually, leg: str
) -> None:
    aborted = asyncio.Event()

    async def wait(call: Call) -> None:
        await call.gone()
        aborted.set()

    getattr(pair, leg).answer = wait
    body = json.dumps({"messages": [{"role": "user", "content": LONG}]}).encode()
    async with RawClient.connect(pair.gateway.public_url) as client:
        await client.send(post(CHAT, body))
        await eventually(lambda: len(getattr(pair, leg).calls) == 1)
        client.leave()
        await asyncio.wait_for(aborted.wait(), 5)
    await eventually(lambda: pair.busy == 0)
    assert len(pair.decode.calls) == (leg == "decode")


async def test_the_prefiller_killed_before_during_and_after_its_leg_costs_no_request(pair: Pair) -> None:
    async def during(call: Call) -> None:
        call.reset()

    async def after(call: Call) -> None:
        await call.send(PREFILLED)
        call.reset()

    async def loses_blocks(call: Call) -> None:
        await call.send(FAILED_STREAM if b"kv_transfer_params" in call.body else STREAM)

    for answer in (during, after):
        pair.prefill.answer = answer
        pair.decode.answer = loses_blocks
        for seen in await asyncio.gather(*(pair.chat() for _ in range(20))):
            assert (seen.status, seen.body) == (200, ROLE + WORD + DONE)
    assert pair.busy == 0
