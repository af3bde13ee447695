"""The gateway's own answers: refusals in OpenAI's shape and small JSON documents.

Owns: status, type and code of each refusal and the headers all answers carry. Knows nothing about when
a request is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from serving.gateway import request_ids
from serving.gateway.outcome import OutcomeKind
from serving.wire.problems import error_type, openai_error, sse_error

SERVER = "teapot"


class Refused(Exception):
    """A request that ends with an error of ours instead of the engine's answer.

    `hang_up` closes the connection after it, for clients that should come back elsewhere or not at all.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        kind: OutcomeKind = "rejected",
        headers: Mapping[str, str] | None = None,
        hang_up: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.kind = kind
        self.headers = headers or {}
        self.hang_up = hang_up

    def response(self, request_id: str) -> web.Response:
        """The answer for a client that has received nothing yet."""
        body = openai_error(self.message, type=error_type(self.status), code=self.code)
        response = json_response(self.status, body, request_id, self.headers)
        if self.hang_up:
            response.force_close()
        return response

    def event(self) -> bytes:
        """The SSE event for a client whose stream has begun."""
        return sse_error(self.message, type=error_type(self.status), code=self.code)


def own_headers(request_id: str) -> dict[str, str]:
    """The headers of every answer. `Server` is set because aiohttp would name itself and Python."""
    return {"Server": SERVER, request_ids.HEADER: request_id}


def json_response(
    status: int, body: bytes, request_id: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An answer of JSON bytes."""
    own = own_headers(request_id)
    return web.Response(
        status=status, body=body, headers={**own, "Content-Type": "application/json", **(headers or {})}
    )


def document(value: Any) -> bytes:
    """A small JSON document as bytes."""
    return json.dumps(value, ensure_ascii=False).encode()


def retry_after(seconds: int) -> dict[str, str]:
    """The header that tells a client when to come back."""
    return {"Retry-After": str(seconds)}
