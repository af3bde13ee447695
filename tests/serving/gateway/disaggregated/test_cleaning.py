"""A client's params never reach an engine, an engine's never a client."""

from __future__ import annotations

import gzip
import json

import pytest

from serving.gateway.disaggregated.cleaning import NotJson, answer_without_params, without_params

PARAMS = '"kv_transfer_params":{"do_remote_prefill":true,"remote_host":"10.0.0.1"}'
PLAIN = f'{{"prompt":"a",{PARAMS}}}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN.replace(b"kv_t", rb"kv\u005ft"), id="escaped"),
        pytest.param(PLAIN.replace(b"kv_t", rb"\u006Bv_t"), id="escaped letter"),
        pytest.param(f'{{"prompt":"a",{PARAMS}}}'.encode("utf-16"), id="utf-16"),
        pytest.param(f'{{"prompt":"a",{PARAMS}}}'.encode("utf-16-be"), id="utf-16 without a mark"),
        pytest.param(f'{{"prompt":"a",{PARAMS}}}'.encode("utf-32-le"), id="utf-32"),
        pytest.param(f'{{{PARAMS},"prompt":"a",{PARAMS}}}'.encode(), id="twice"),
    ],
)  # fmt: skip
def test_the_key_is_taken_out_however_it_is_spelled(body: bytes) -> None:
    assert "kv_transfer_params" in json.loads(body)  # What an engine would read.
    assert json.loads(without_params(body)) == {"prompt": "a"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"prompt": "a",  "n":1}',
        b"not json",
        b'{"prompt": "\\u00e9 \\u003c \\ud83d\\ude00"}',
        b'{"messages":[{"content":"what is kv_transfer_params?"}]}',
        b'["kv_transfer_params"]',
        b"\x00\x01\x02",
        gzip.compress(b"{}", mtime=0),
    ],
)
def test_a_body_without_the_key_is_not_touched(body: bytes) -> None:
    assert without_params(body) == body


def test_all_else_of_a_body_survives() -> None:
    body = b'{"a":1e5,"b":12345678901234567890,"c":"\xc3\xa9\\ud800","kv_transfer_params":{},"d":[null,true]}'
    kept = {key: value for key, value in json.loads(body).items() if key != "kv_transfer_params"}
    assert json.loads(without_params(body)) == kept


@pytest.mark.parametrize("body", [b'{"kv_transfer_params": {', b'{"kv_transfer_params":' + b"[" * 200_000])
def test_a_body_that_names_the_key_and_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(NotJson):
        without_params(body)


def test_an_answers_params_are_taken_out() -> None:
    answer = f'{{"id":"x","choices":[],{PARAMS}}}'.encode()
    cleaned = answer_without_params(answer)
    assert json.loads(cleaned) == {"id": "x", "choices": [], "kv_transfer_params": None}
    assert (
        answer_without_params(b'{"id":"x", "kv_transfer_params":null}')
        == b'{"id":"x", "kv_transfer_params":null}'
    )
    with pytest.raises(NotJson):
        answer_without_params(answer[:-1])
