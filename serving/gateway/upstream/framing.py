"""HTTP/1.1 as the gateway speaks it to engines: request heads as bytes, answers' heads and framing read.

Owns: RFC 9112's framing of an answer's body (chunked, content-length, until close). Knows nothing about
sockets. Chunks that lie wholly in one read are recognized and not taken apart: they can be sent on as they
came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

MAX_HEAD_BYTES = 65_536
_MAX_LINE_BYTES = 8_192
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,8})\r\n")


class Nonsense(Exception):
    """The bytes are not an HTTP/1.1 answer."""


class Head(NamedTuple):
    """The first lines of an answer. Header names are in lower case; of equal names the last counts."""

    status: int
    headers: Mapping[str, str]
    keep_alive: bool


def request_head(
    method: str, target: str, host: str, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """The head of a request, with the length of its body."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    # A client's own header bytes may be no UTF-8; they were read with surrogates and leave as they came.
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def parse_head(raw: bytes) -> Head:
    """Read a head, given without its blank line. Raises: Nonsense."""
    first, *lines = raw.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (code.isascii() and code.isdigit() and len(code) == 3):
        raise Nonsense(f"not an HTTP/1.1 status line: {first[:80]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Nonsense(f"not a header line: {line[:80]!r}")
        headers[name.lower()] = value.strip()
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection and (version == "HTTP/1.1" or "keep-alive" in connection)
    return Head(int(code), headers, keep_alive)


class _State(Enum):
    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILERS = auto()
    LENGTH = auto()
    UNTIL_CLOSE = auto()
    COMPLETE = auto()


class Piece(NamedTuple):
    """Bytes of a read, in their order: whole chunks as they came, or a part of the body without framing."""

    framed: bool
    data: bytes


def whole_chunks(data: bytes, position: int = 0) -> int:
    """Up to which offset, from `position` on, there is nothing but whole chunks that are not the last one."""
    size = len(data)
    while position < size and (line := _SIZE_LINE.match(data, position)) is not None:
        length = int(line[1], 16)
        end = line.end() + length + 2
        if not length or end > size or data[end - 2 : end] != b"\r\n":
            break
        position = end
    return position


class Framing:
    """Follows the body of one answer."""

    __slots__ = ("_line", "_remaining", "_state", "leftover")

    def __init__(self, head: Head, *, no_body: bool = False) -> None:
        """Decide how the body is framed. Raises: Nonsense."""
        self._line = b""
        self._remaining = 0
        self.leftover = False
        """Whether bytes came after the end: then the connection cannot be used again."""
        codings = head.headers.get("transfer-encoding", "").lower()
        length = head.headers.get("content-length")
        if no_body or head.status in (204, 304):
            self._state = _State.COMPLETE
        elif codings:
            self._state = (
                _State.SIZE if codings.rsplit(",", 1)[-1].strip() == "chunked" else _State.UNTIL_CLOSE
            )
        elif length is None:
            self._state = _State.UNTIL_CLOSE
        elif not (length.isascii() and length.isdigit()):
            raise Nonsense(f"content-length {length[:40]!r} is not a number")
        else:
            self._remaining = int(length)
            self._state = _State.LENGTH if self._remaining else _State.COMPLETE

    @property
    def complete(self) -> bool:
        """Whether the whole body came."""
        return self._state is _State.COMPLETE

    @property
    def until_close(self) -> bool:
        """Whether only the connection's end ends the body."""
        return self._state is _State.UNTIL_CLOSE

    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes. Raises: Nonsense."""
        pieces: list[Piece] = []
        position, size = 0, len(data)
        while position < size:
            state = self._state
            if state is _State.SIZE and not self._line:
                end = whole_chunks(data, position)
                if end > position:
                    pieces.append(Piece(True, data[position:end]))
                    position = end
                    continue
            if state is _State.DATA or state is _State.LENGTH:
                part = data[position : position + self._remaining]
                position += len(part)
                self._remaining -= len(part)
                pieces.append(Piece(False, part))
                if not self._remaining:
                    self._state = _State.DATA_END if state is _State.DATA else _State.COMPLETE
            elif state is _State.UNTIL_CLOSE:
                pieces.append(Piece(False, data[position:]))
                position = size
            elif state is _State.COMPLETE:
                self.leftover = True
                break
            else:
                position = self._take_line(data, position)
        return pieces

    def _take_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position)
        after = end + 1 if end >= 0 else len(data)
        self._line += data[position:after]
        if len(self._line) > _MAX_LINE_BYTES:
            raise Nonsense(f"a line of more than {_MAX_LINE_BYTES} bytes")
        if end >= 0:
            line, self._line = self._line.rstrip(b"\r\n"), b""
            self._line_done(line)
        return after

    def _line_done(self, line: bytes) -> None:
        if self._state is _State.SIZE:
            self._remaining = _chunk_size(line)
            self._state = _State.DATA if self._remaining else _State.TRAILERS
        elif self._state is _State.DATA_END:
            if line:
                raise Nonsense(f"a chunk longer than it said: {line[:40]!r} where it should end")
            self._state = _State.SIZE
        elif not line:
            self._state = _State.COMPLETE


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    # int() alone would also take a sign, "0x" and underscores.
    if not digits or digits.strip(b"0123456789abcdefABCDEF") or len(digits) > 8:
        raise Nonsense(f"not a chunk size: {line[:40]!r}")
    return int(digits, 16)


def unframed(chunks: bytes) -> bytes:
    """The body of whole chunks, as `whole_chunks` found them."""
    parts = []
    position = 0
    while line := _SIZE_LINE.match(chunks, position):
        start = line.end()
        end = start + int(line[1], 16)
        parts.append(chunks[start:end])
        position = end + 2
    return b"".join(parts)
