"""serving.wire.problems: every engine's error becomes OpenAI's shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serving.wire.problems import error_type, openai_error, sse_error, to_openai


def error_of(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    assert list(document) == ["error"]
    assert set(document["error"]) == {"message", "type", "param", "code"}
    return dict(document["error"])


def test_an_error_has_openais_four_fields() -> None:
    assert json.loads(openai_error("no", type="not_found_error", code="model_not_found", param="model")) == {
        "error": {"message": "no", "type": "not_found_error", "param": "model", "code": "model_not_found"}
    }


def test_an_error_in_a_stream_is_one_event() -> None:
    event = sse_error("two\nlines", type="server_error", code=None)
    assert event.startswith(b"data: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 2
    assert error_of(event[6:])["message"] == "two\nlines"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "invalid_request_error"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "server_error"),
        (503, "service_unavailable_error"),
        (599, "server_error"),
    ],
)
def test_each_status_has_its_type(status: int, expected: str) -> None:
    assert error_type(status) == expected


VLLM_404 = (
    b'{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","param":"model","code":404}}'
)
FASTAPI_422 = (
    b'{"detail":[{"type":"missing","loc":["body","messages",0,"role"],"msg":"Field required","input":{}},'
    b'{"loc":["body"],"msg":"Bad"}]}'
)
OPENAI_429 = (
    b'{"error":{"message":"slow","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}'
)


@pytest.mark.parametrize(
    ("status", "body", "content_type", "message", "type_", "param", "code"),
    [
        (
            404,
            VLLM_404,
            "application/json",
            "The model `x` does not exist.",
            "not_found_error",
            "model",
            None,
        ),
        (401, b'{"error":"Unauthorized"}', None, "Unauthorized", "authentication_error", None, None),
        (404, b'{"detail":"Not Found"}', None, "Not Found", "not_found_error", None, None),
        (
            422,
            FASTAPI_422,
            None,
            "messages.0.role: Field required; Bad",
            "invalid_request_error",
            "messages.0.role",
            None,
        ),
        (429, OPENAI_429, None, "slow", "rate_limit_error", None, "rate_limit_exceeded"),
        (
            400,
            b'{"object":"error","message":"too long","type":"BadRequestError","code":400}',
            None,
            "too long",
            "invalid_request_error",
            None,
            None,
        ),
        (500, b"Internal Server Error\n", "text/plain", "Internal Server Error", "server_error", None, None),
        (
            503,
            b"",
            None,
            "503 Service Unavailable, without a message",
            "service_unavailable_error",
            None,
            None,
        ),
        (
            502,
            b"<html><h1>Bad",
            "text/html",
            "502 Bad Gateway, without a message",
            "server_error",
            None,
            None,
        ),
        (599, b" ", None, "status 599, without a message", "server_error", None, None),
        (500, b"\xff oops", None, "\ufffd oops", "server_error", None, None),
    ],
)
def test_an_engines_error_keeps_its_message_and_gets_openais_shape(
    status: int,
    body: bytes,
    content_type: str | None,
    message: str,
    type_: str,
    param: str | None,
    code: str | None,
) -> None:
    assert error_of(to_openai(status, body, content_type)) == {
        "message": message,
        "type": type_,
        "param": param,
        "code": code,
    }


@pytest.mark.parametrize(
    "body", [b"null", b"[]", b"{}", b'{"error":{}}', b'{"error":null}', b'{"detail":[]}']
)
def test_a_document_without_a_message_is_shown_as_it_is(body: bytes) -> None:
    assert error_of(to_openai(500, body, "application/json"))["message"] == body.decode()


def test_a_page_of_text_is_cut() -> None:
    assert len(error_of(to_openai(500, b"x" * 100_000, "text/plain"))["message"]) == 2_000
