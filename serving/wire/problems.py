"""Errors in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`.

Owns: that shape, the type that goes with each HTTP status, and how the other shapes engines answer with
become it. Knows nothing about when an error is sent or who reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MAX_MESSAGE_CHARS = 2_000

_TYPE_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    501: "server_error",
    502: "server_error",
    503: "service_unavailable_error",
    504: "timeout_error",
}
# The field is called `type` on the wire, so it is called `type` here too: hence A002 below.
_KNOWN_TYPES = frozenset(_TYPE_BY_STATUS.values())


def error_type(status: int) -> str:
    """The `type` of an error answered with this HTTP status."""
    return _TYPE_BY_STATUS.get(status, "server_error" if status >= 500 else "invalid_request_error")


def openai_error(message: str, *, type: str, code: str | None, param: str | None = None) -> bytes:  # noqa: A002
    """The JSON body of an error."""
    error = {"message": message, "type": type, "param": param, "code": code}
    return json.dumps({"error": error}, ensure_ascii=False).encode()


def sse_error(message: str, *, type: str, code: str | None, param: str | None = None) -> bytes:  # noqa: A002
    """An error as one SSE event, for a stream whose 200 is already on the wire."""
    return b"data: " + openai_error(message, type=type, code=code, param=param) + b"\n\n"


def to_openai(status: int, body: bytes, content_type: str | None) -> bytes:
    """Turn any error answer into OpenAI's shape, keeping its message.

    Read: vLLM's `{"error": {...}}` and `{"error": "Unauthorized"}`, older vLLM's `{"object": "error"}`,
    FastAPI's `{"detail": ...}`, plain text, and nothing at all. An own `type` is kept only where it is
    one of OpenAI's; a numeric `code` (vLLM repeats the status there) becomes null, as OpenAI's is a word.
    """
    found = _from_json(body) or _from_text(body, content_type) or _Found(_silent(status))
    kind = found.type if found.type in _KNOWN_TYPES else error_type(status)
    return openai_error(found.message[:MAX_MESSAGE_CHARS], type=kind, code=found.code, param=found.param)


def message_of(error: Any) -> str | None:
    """The message in a decoded error: the value of `error`, or a document that has it. None if none."""
    found = _from_value(error)
    return None if found is None else found.message


@dataclass(frozen=True, slots=True)
class _Found:
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None


def _from_json(body: bytes) -> _Found | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return _from_value(document)


def _from_value(value: Any) -> _Found | None:
    if isinstance(value, str):
        return _Found(value.strip()) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    if "error" in value:
        return _from_value(value["error"])
    if "detail" in value:
        return _from_detail(value["detail"])
    message = value.get("message")
    if not isinstance(message, str) or not message.strip():
        return None
    kind, code, param = (_word(value.get(key)) for key in ("type", "code", "param"))
    return _Found(message.strip(), kind, code, param)


def _from_detail(detail: Any) -> _Found | None:
    if not isinstance(detail, list):
        return _from_value(detail)
    rows = [row for row in detail if isinstance(row, Mapping) and isinstance(row.get("msg"), str)]
    if not rows:
        return None
    places = [".".join(str(step) for step in row.get("loc", ()) if step != "body") for row in rows]
    said = [
        f"{where}: {row['msg']}" if where else row["msg"] for where, row in zip(places, rows, strict=True)
    ]
    return _Found("; ".join(said), param=places[0] or None)


def _from_text(body: bytes, content_type: str | None) -> _Found | None:
    # A page made for browsers says nothing that a client of an API could use.
    if "html" in (content_type or "").lower():
        return None
    text = body.decode(errors="replace").strip()
    return _Found(text) if text else None


def _silent(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}, without a message"
    except ValueError:
        return f"status {status}, without a message"


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
