"""Which requests are divided, and into what."""

from __future__ import annotations

import json

import pytest

from serving.connectors.nixl import Nixl
from serving.gateway.disaggregated.division import divide, enough_to_judge, first_events_fail

CHAT = "/v1/chat/completions"
LONG = "word " * 100
PARAMS = {
    "do_remote_prefill": True,
    "remote_block_ids": [[1, 2]],
    "remote_host": "10.0.0.1",
    "remote_port": 5600,
}


def body(**fields: object) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": LONG}], **fields}).encode()


def test_a_long_prompt_is_divided_into_one_token_and_the_clients_own_request() -> None:
    asked = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 50,
        "min_tokens": 5,
        "n": 2,
    }
    bodies = divide(CHAT, body(**asked), Nixl.legs, 64)
    first = json.loads(bodies.first())
    assert (first["stream"], first["max_tokens"], first["n"]) == (False, 1, 1)
    assert not {"stream_options", "min_tokens"} & first.keys()
    assert bodies.take_params(json.dumps({"id": "x", "kv_transfer_params": PARAMS}).encode())
    second = json.loads(bodies.second())
    assert second == {**json.loads(body(**asked)), "kv_transfer_params": PARAMS}


def test_params_are_used_once() -> None:
    bodies = divide(CHAT, body(), Nixl.legs, 64)
    bodies.take_params(json.dumps({"kv_transfer_params": PARAMS}).encode())
    bodies.second()
    with pytest.raises(RuntimeError, match="used once"):
        bodies.second()


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"kv_transfer_params": null}', b"not json"])
def test_an_answer_without_params_transfers_nothing(answer: bytes) -> None:
    assert not divide(CHAT, body(), Nixl.legs, 64).take_params(answer)


@pytest.mark.parametrize(
    ("path", "sent", "from_tokens"),
    [
        pytest.param(CHAT, body(), 1000, id="short"),
        pytest.param(CHAT, body(echo=True), 64, id="echo"),
        pytest.param("/v1/completions", body(prompt_logprobs=1), 64, id="prompt logprobs"),
        pytest.param("/tokenize", body(), 64, id="not generated"),
        pytest.param(CHAT, body()[:-1], 64, id="not JSON"),
        pytest.param(CHAT, b"[" + body() + b"]", 64, id="no object"),
    ],
)
def test_some_requests_are_answered_by_one_engine(path: str, sent: bytes, from_tokens: int) -> None:
    assert divide(path, sent, Nixl.legs, from_tokens) is None


def test_a_connector_without_legs_divides_nothing() -> None:
    assert divide(CHAT, body(), None, 0) is None


def test_an_error_among_the_first_events_is_seen() -> None:
    role = b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
    error = b'data: {"error":{"message":"x"}}\n\n'
    assert first_events_fail(error)
    assert first_events_fail(role + error)
    assert not first_events_fail(role + b'data: {"choices":[{"delta":{"content":"{\\"error\\""}}]}\n\n')


def test_a_chats_role_alone_is_not_enough_to_judge() -> None:
    event = b"data: {}\n\n"
    assert not enough_to_judge(CHAT, event)
    assert enough_to_judge(CHAT, event * 2)
    assert enough_to_judge("/v1/completions", event)
    assert not enough_to_judge("/v1/completions", event[:-1])
