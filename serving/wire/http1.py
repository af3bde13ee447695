"""HTTP/1.1 responses as bytes: where the head ends, which bytes are body, when the message is whole.

Owns: response framing (RFC 9112: content-length, chunked with extensions and trailers, until close) and
the map from body offsets to offsets in the raw bytes. Knows nothing about sockets, requests or content.
Made for the load generator, which keeps raw bytes with their stamps and reads them after the stream ended.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

MAX_LINE_BYTES = 65_536
"""A longer head, size or trailer line is taken for a broken peer."""


_PLAIN_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})\r\n")


class BrokenMessage(ValueError):
    """The bytes are not an HTTP/1.1 response."""


class Segment(NamedTuple):
    """A run of body bytes: `length` bytes at `body_start` of the body lie at `raw_start` of the raw bytes."""

    body_start: int
    raw_start: int
    length: int


class _State(Enum):
    STATUS = auto()
    HEADERS = auto()
    CHUNK_SIZE = auto()
    CHUNK_DATA = auto()
    CHUNK_END = auto()
    TRAILERS = auto()
    LENGTH = auto()
    UNTIL_CLOSE = auto()
    COMPLETE = auto()


@dataclass(slots=True)
class ResponseFraming:
    """Follows one response read by read. Keeps no body: a read costs a look at its framing bytes only."""

    status: int = 0
    reason: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    """In order, names in lower case."""
    trailers: list[tuple[str, str]] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    head_bytes: int | None = None
    """Length of everything before the body (informational responses included), once it is known."""
    size: int = 0
    """Raw bytes that belong to this message so far."""
    _state: _State = _State.STATUS
    _line: bytes = b""
    _remaining: int = 0
    _body_length: int = 0

    @property
    def complete(self) -> bool:
        """Whether the whole message was seen. Until-close bodies are complete only after `close`."""
        return self._state is _State.COMPLETE

    def feed(self, data: bytes) -> bool:
        """Take the next raw bytes; True once the message is complete. What follows it is not looked at.

        Raises: BrokenMessage.
        """
        position, size = 0, len(data)
        while position < size:
            state = self._state
            if state is _State.CHUNK_SIZE and not self._line:
                position = self._take_whole_chunks(data, position)
                if position == size:
                    break
            if state is _State.CHUNK_DATA or state is _State.LENGTH or state is _State.UNTIL_CLOSE:
                position += self._take_body(size - position)
            elif state is _State.COMPLETE:
                break
            else:
                line_end = data.find(b"\n", position)
                after = line_end + 1 if line_end >= 0 else size
                self._line += data[position:after]
                self.size += after - position
                position = after
                if len(self._line) > MAX_LINE_BYTES:
                    raise BrokenMessage(f"a line of more than {MAX_LINE_BYTES} bytes")
                if line_end >= 0:
                    line, self._line = self._line.rstrip(b"\r\n"), b""
                    self._take_line(line)
        return self._state is _State.COMPLETE

    def close(self) -> bool:
        """Say that the peer closed the connection; True if the message is complete."""
        if self._state is _State.UNTIL_CLOSE:
            self._state = _State.COMPLETE
        return self.complete

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in lower case."""
        return next((value for key, value in self.headers if key == name), None)

    def _take_whole_chunks(self, data: bytes, position: int) -> int:
        """The usual case made cheap: chunks that lie wholly in one read. Anything else is left to `feed`."""
        while (line := _PLAIN_SIZE_LINE.match(data, position)) is not None:
            length = int(line[1], 16)
            start = line.end()
            end = start + length
            if not length or not data.startswith(b"\r\n", end):
                break
            raw_start = self.size + start - position
            self.segments.append(Segment(self._body_length, raw_start, length))
            self._body_length += length
            self.size = raw_start + length + 2
            position = end + 2
        return position

    def _take_body(self, available: int) -> int:
        until_close = self._state is _State.UNTIL_CLOSE
        taken = available if until_close else min(available, self._remaining)
        last = self.segments[-1] if self.segments else None
        if last is not None and last.raw_start + last.length == self.size:
            self.segments[-1] = Segment(last.body_start, last.raw_start, last.length + taken)
        else:
            self.segments.append(Segment(self._body_length, self.size, taken))
        self.size += taken
        self._body_length += taken
        if not until_close:
            self._remaining -= taken
            if self._remaining == 0:
                chunked = self._state is _State.CHUNK_DATA
                self._state = _State.CHUNK_END if chunked else _State.COMPLETE
        return taken

    def _take_line(self, line: bytes) -> None:
        state = self._state
        if state is _State.CHUNK_SIZE:
            self._remaining = _chunk_size(line)
            self._state = _State.CHUNK_DATA if self._remaining else _State.TRAILERS
        elif state is _State.CHUNK_END:
            if line:
                raise BrokenMessage(f"a chunk longer than it said: {line[:40]!r} where it should end")
            self._state = _State.CHUNK_SIZE
        elif state is _State.STATUS:
            self.status, self.reason = _status_line(line)
            self._state = _State.HEADERS
        elif line:
            (self.headers if state is _State.HEADERS else self.trailers).append(_header_line(line))
        elif state is _State.HEADERS:
            self._end_of_head()
        else:
            self._state = _State.COMPLETE

    def _end_of_head(self) -> None:
        if 100 <= self.status < 200:
            self.headers = []
            self._state = _State.STATUS
            return
        self.head_bytes = self.size
        codings = ",".join(value for key, value in self.headers if key == "transfer-encoding").lower()
        lengths = {value.strip() for key, value in self.headers if key == "content-length"}
        if self.status in (204, 304):
            self._state = _State.COMPLETE
        elif codings:
            chunked = codings.rsplit(",", 1)[-1].strip() == "chunked"
            self._state = _State.CHUNK_SIZE if chunked else _State.UNTIL_CLOSE
        elif not lengths:
            self._state = _State.UNTIL_CLOSE
        else:
            value = lengths.pop()
            if lengths or not (value.isascii() and value.isdigit()):
                raise BrokenMessage(f"content-length {[value, *lengths]} is not one number")
            self._remaining = int(value)
            self._state = _State.LENGTH if self._remaining else _State.COMPLETE


@dataclass(frozen=True, slots=True)
class Response:
    """A response as far as its bytes go. `status` is 0 where not even the status line is whole."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    trailers: tuple[tuple[str, str], ...]
    body: bytes
    segments: tuple[Segment, ...]
    head_bytes: int | None
    complete: bool
    leftover: bytes
    """What came after the complete message."""

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in lower case."""
        return next((value for key, value in self.headers if key == name), None)

    def raw_ends(self, body_ends: Sequence[int]) -> list[int]:
        """For each body end offset (1 .. len(body)), the raw offset just after that body byte.

        The read that delivered the byte is the first whose own end offset is not below the result.
        """
        starts = [segment.body_start for segment in self.segments]
        ends = []
        for body_end in body_ends:
            if not 0 < body_end <= len(self.body):
                raise ValueError(f"body offset {body_end} is not within 1..{len(self.body)}")
            segment = self.segments[bisect_right(starts, body_end - 1) - 1]
            ends.append(segment.raw_start + body_end - segment.body_start)
        return ends


def decode(raw: bytes, *, closed: bool) -> Response:
    """Decode a response, whole or broken off. `closed`: the peer closed the connection after `raw`.

    Raises: BrokenMessage.
    """
    framing = ResponseFraming()
    framing.feed(raw)
    if closed:
        framing.close()
    return Response(
        status=framing.status,
        reason=framing.reason,
        headers=tuple(framing.headers),
        trailers=tuple(framing.trailers),
        body=b"".join(raw[part.raw_start : part.raw_start + part.length] for part in framing.segments),
        segments=tuple(framing.segments),
        head_bytes=framing.head_bytes,
        complete=framing.complete,
        leftover=raw[framing.size :],
    )


def _status_line(line: bytes) -> tuple[int, str]:
    version, _, rest = line.partition(b" ")
    code, _, reason = rest.partition(b" ")
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise BrokenMessage(f"not an HTTP/1.1 status line: {line[:80]!r}")
    return int(code), reason.decode("latin-1")


def _header_line(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not name or name != name.strip():
        raise BrokenMessage(f"not a header line: {line[:80]!r}")
    return name.decode("latin-1").lower(), value.strip().decode("latin-1")


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    # int() alone would also take a sign, "0x" and underscores.
    if not digits or digits.strip(b"0123456789abcdefABCDEF"):
        raise BrokenMessage(f"not a chunk size: {line[:40]!r}")
    return int(digits, 16)
