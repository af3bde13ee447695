"""The head of a forwarded answer as bytes, and the response that stands for it in aiohttp's server.

Owns: that head's lines and how the body after it is framed. Knows nothing about sockets or engines. aiohttp's
own responses cost more for a small answer than all the rest of forwarding it, and write head and body apart.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_NO_BODY = (204, 304)


class Forwarded(web.StreamResponse):
    """An answer whose bytes were written by the relay; aiohttp adds none."""

    def __init__(self, status: int, *, keep_alive: bool) -> None:
        super().__init__(status=status)
        self._kept = keep_alive

    @property
    def prepared(self) -> bool:
        """Its head is on the wire."""
        return True

    @property
    def keep_alive(self) -> bool | None:
        """Whether the connection takes another request."""
        return self._kept

    def force_close(self) -> None:
        """Let the connection end after it."""
        self._kept = False

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Nothing is left to write."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""


def framing(request: web.BaseRequest, status: int, headers: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether the body is sent in chunks, and whether the connection is kept after it."""
    keep = bool(request.keep_alive)
    if "Content-Length" in headers or status in _NO_BODY:
        return False, keep
    if request.version >= HttpVersion11:
        return True, keep
    return False, False  # HTTP/1.0 knows no chunks: the connection's end is the body's.


def head_bytes(
    request: web.BaseRequest, status: int, headers: Mapping[str, str], *, chunked: bool, keep_alive: bool
) -> bytes:
    """The status line and all headers, with the blank line."""
    version = request.version
    lines = [f"HTTP/{version.major}.{version.minor} {status} {_REASONS.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    if "Content-Type" not in headers and status not in _NO_BODY:
        lines.append("Content-Type: application/octet-stream")
    lines.append(f"Date: {_date(int(time.time()))}")
    if not keep_alive:
        lines.append("Connection: close")
    elif version < HttpVersion11:
        lines.append("Connection: keep-alive")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


_last_date = (0, "")


def _date(now_s: int) -> str:
    global _last_date  # noqa: PLW0603 - one value for all answers of a second
    if _last_date[0] != now_s:
        _last_date = (now_s, formatdate(now_s, usegmt=True))
    return _last_date[1]
