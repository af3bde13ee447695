"""An incremental decoder of text/event-stream.

Owns: the line and event rules of WHATWG HTML section 9.2.6 and the byte offsets of events. Knows nothing
about HTTP, JSON or what an event means. No I/O: bytes in, events out.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event, or one comment line.

    `end` is the offset in the stream just after the event (its blank line included), so that a reader
    who stamped its socket reads can find, after the stream ended, which read completed the event.
    `truncated` marks the last event of a stream that ended before the event's blank line; a browser
    would drop it.
    """

    data: bytes
    """The data lines joined by LF; the text after the colon of a comment."""
    end: int
    event: str | None = None
    """The event's type where the stream names one."""
    id: str | None = None
    """The last event id seen so far: it stays until the stream sets another."""
    comment: bool = False
    truncated: bool = False


class SseDecoder:
    """Feed it bytes split anywhere; the events do not depend on where they were split.

    An event without a data field is not an event (WHATWG), but `data:` alone is one with empty data.
    A CR at the end of the bytes is held until the next byte tells whether it is one half of a CRLF.
    """

    def __init__(self) -> None:
        self._rest = b""
        """The bytes of the unfinished line."""
        self._rest_start = 0
        """Where `_rest` starts in the stream."""
        self._at_start = True
        self._data: list[bytes] = []
        self._event: str | None = None
        self._id: str | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """Decode the next bytes of the stream and return what they completed."""
        buffer = self._rest + data if self._rest else data
        position = 0
        if self._at_start:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            self._at_start = False
            position = len(_BOM) if buffer.startswith(_BOM) else 0
        return self._decode(buffer, position)

    def close(self) -> SseEvent | None:
        """Say that the stream ended: the event it left behind, if any.

        That event is `truncated`, except where the stream's very last byte was a CR that finished it.
        """
        line, self._rest = self._rest, b""
        end = self._rest_start + len(line)
        if line == b"\r":
            return self._dispatch(end)
        if line:
            comment = self._take_line(line.removesuffix(b"\r"), end)
            if comment is not None and not self._data:
                return SseEvent(comment.data, end, comment=True, truncated=not line.endswith(b"\r"))
        if not self._data:
            return None
        return SseEvent(b"\n".join(self._data), end, self._event, self._id, truncated=True)

    def _decode(self, buffer: bytes, position: int) -> list[SseEvent]:
        events: list[SseEvent] = []
        size = len(buffer)
        next_cr = -1
        while True:
            next_lf = buffer.find(b"\n", position)
            # Streams without any CR are the rule: look for the next one only when the last was passed.
            if next_cr < position:
                next_cr = buffer.find(b"\r", position)
                if next_cr < 0:
                    next_cr = size
            if next_lf < 0 and next_cr >= size - 1:
                break
            if next_cr < next_lf or next_lf < 0:
                line_end = next_cr
                after = next_cr + (2 if buffer[next_cr + 1] == 0x0A else 1)
            else:
                line_end, after = next_lf, next_lf + 1
            end = self._rest_start + after
            if line_end == position:
                event = self._dispatch(end)
            else:
                event = self._take_line(buffer[position:line_end], end)
            if event is not None:
                events.append(event)
            position = after
        self._rest = buffer[position:]
        self._rest_start += position
        return events

    def _take_line(self, line: bytes, end: int) -> SseEvent | None:
        if line.startswith(b"data: "):
            self._data.append(line[6:])
            return None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not name and line:
            return SseEvent(value, end, comment=True)
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode(errors="replace") or None
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
        return None

    def _dispatch(self, end: int) -> SseEvent | None:
        event = SseEvent(b"\n".join(self._data), end, self._event, self._id) if self._data else None
        self._data = []
        self._event = None
        return event


def decode(stream: bytes) -> list[SseEvent]:
    """Decode a whole stream; the last event is `truncated` where the stream broke off inside it."""
    decoder = SseDecoder()
    events = decoder.feed(stream)
    last = decoder.close()
    return events if last is None else [*events, last]
