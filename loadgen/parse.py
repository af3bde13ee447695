"""From the raw bytes of one exchange and the stamps of their reads to its record.

Owns: the definitions of when output began and ended, and what made a request ok, failed or cut.
Knows nothing about sockets, files or who else is streaming. It works in slices, so that a long
answer can be read while other streams are being stamped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from loadgen.records import Outcome, Planned, RequestRecord
from serving.wire import chunks, problems, sse
from serving.wire.chunks import Chunk, EventClass, Usage
from serving.wire.http1 import ResponseFraming, Segment

SLICE_BYTES = 4096
"""About 15 events: the longest that the stamps of other streams are kept waiting (docs/load.md)."""


@dataclass(slots=True)
class Capture:
    """What was seen of one exchange. Stamps are raw `perf_counter_ns`; `ends[i]` is the number of
    bytes received when read i was stamped with `stamps[i]`."""

    t_sent_ns: int
    t_end_ns: int = 0
    parts: list[bytes] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    framing: ResponseFraming = field(default_factory=ResponseFraming)
    """Was fed all of `parts`, or up to the one that is no HTTP."""
    closed: bool = False
    """The peer closed the connection."""
    cut: bool = False
    """The run ended the exchange."""
    error: str | None = None
    """What broke the exchange, where it was not the server's own answer."""


def record(capture: Capture, planned: Planned, *, origin_ns: int, measure_start_ns: int) -> RequestRecord:
    """The record of an exchange, in one go."""
    steps = record_in_slices(capture, planned, origin_ns=origin_ns, measure_start_ns=measure_start_ns)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: RequestRecord = end.value
            return made


def record_in_slices(
    capture: Capture, planned: Planned, *, origin_ns: int, measure_start_ns: int
) -> Generator[None, None, RequestRecord]:
    """The record of an exchange as the generator's value; it yields after each slice of work.

    Intended times are relative to `measure_start_ns`, the record's to `origin_ns` (both raw stamps).
    """
    framing, raw = capture.framing, b"".join(capture.parts)
    stamps = _Stamps(capture, origin_ns)
    seen = _Seen(stamps)
    if _is_stream(framing):
        decoder = sse.SseDecoder()
        for piece in _slices(raw, framing.segments):
            seen.take(decoder.feed(piece))
            yield
        seen.take(filter(None, [decoder.close()]))
    failure = capture.error or _failure(capture, seen, raw)
    intended, head, usage = planned.t_intended_ns, framing.head_bytes, seen.usage
    return RequestRecord(
        index=planned.index,
        phase=planned.phase,
        kind=planned.kind,
        outcome=_outcome(capture, failure),
        t_intended_ns=None if intended is None else intended + measure_start_ns - origin_ns,
        t_sent_ns=capture.t_sent_ns - origin_ns,
        t_end_ns=capture.t_end_ns - origin_ns,
        t_headers_ns=_Stamps(capture, origin_ns).at_raw(head) if head else None,
        t_first_visible_ns=seen.first_visible_ns,
        output_ns=tuple(seen.output_ns),
        output_tokens_by_event=chunks.tokens_by_output_event(seen.chunks),
        events=dict(seen.counts),
        http_status=framing.status or None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        output_tokens_source="usage" if usage and usage.completion_tokens is not None else "none",
        finish_reason=seen.finish_reason,
        request_id=seen.request_id,
        error="the run ended before the answer did" if capture.cut else failure,
        bytes_in=len(raw),
    )


class _Stamps:
    """From offsets to the stamps of the reads that delivered them; asked in ascending order only."""

    def __init__(self, capture: Capture, origin_ns: int) -> None:
        self._capture, self._origin_ns = capture, origin_ns
        self._segment = self._read = 0

    def at_body(self, body_end: int) -> int:
        """The stamp of the read that completed the first `body_end` bytes of the body."""
        segments = self._capture.framing.segments
        while (part := segments[self._segment]).body_start + part.length < body_end:
            self._segment += 1
        return self.at_raw(part.raw_start + body_end - part.body_start)

    def at_raw(self, raw_end: int) -> int:
        """The stamp of the read that completed the first `raw_end` raw bytes."""
        ends = self._capture.ends
        while ends[self._read] < raw_end:
            self._read += 1
        return self._capture.stamps[self._read] - self._origin_ns


@dataclass(slots=True)
class _Seen:
    """What the events of a stream came to, so far."""

    stamps: _Stamps
    chunks: list[Chunk] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    output_ns: list[int] = field(default_factory=list)
    first_visible_ns: int | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    request_id: str | None = None
    error: str | None = None
    done: bool = False

    def take(self, events: Iterable[sse.SseEvent]) -> None:
        """Take in the next events. A truncated one is none: half of its JSON may be missing."""
        for event in events:
            if not event.truncated:
                self._take(chunks.classify(event), event.end)

    def _take(self, chunk: Chunk, end: int) -> None:
        self.chunks.append(chunk)
        self.counts[chunk.event_class.value] += 1
        if chunk.event_class.is_output:
            stamp_ns = self.stamps.at_body(end)
            self.output_ns.append(stamp_ns)
            if self.first_visible_ns is None and chunk.visible_text:
                self.first_visible_ns = stamp_ns
        self.usage = chunk.usage or self.usage
        self.finish_reason = self.finish_reason or chunk.finish_reason
        self.request_id = self.request_id or chunk.request_id
        self.error = self.error or chunk.error
        self.done = self.done or chunk.event_class is EventClass.DONE


def _slices(raw: bytes, segments: Sequence[Segment]) -> Iterator[bytes]:
    """The body in order, in pieces of about SLICE_BYTES."""
    pieces: list[bytes] = []
    size = 0
    for part in segments:
        for start in range(part.raw_start, part.raw_start + part.length, SLICE_BYTES):
            piece = raw[start : min(start + SLICE_BYTES, part.raw_start + part.length)]
            pieces.append(piece)
            size += len(piece)
            if size >= SLICE_BYTES:
                yield b"".join(pieces)
                pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _is_stream(framing: ResponseFraming) -> bool:
    kind = framing.header("content-type") or ""
    return framing.status == 200 and kind.partition(";")[0].strip().lower() == "text/event-stream"


def _outcome(capture: Capture, failure: str | None) -> Outcome:
    if capture.cut:
        return "cut"
    return "failed" if failure else "ok"


def _failure(capture: Capture, seen: _Seen, raw: bytes) -> str | None:
    """Why what came is not a complete answer; None if it is."""
    framing = capture.framing
    if framing.head_bytes is None:
        return "the server closed without an answer"
    if framing.status != 200:
        body = b"".join(raw[part.raw_start : part.raw_start + part.length] for part in framing.segments)
        return f"HTTP {framing.status}: {_message(body) or framing.reason}".rstrip(": ")
    if not _is_stream(framing):
        return f"answered with {framing.header('content-type') or 'no content type'} and not a stream"
    if seen.error:
        return f"error in the stream: {seen.error}"
    if not seen.done and not seen.finish_reason:
        return "the stream broke off before its end"
    return None


def _message(body: bytes) -> str | None:
    try:
        return problems.message_of(json.loads(body))
    except ValueError:
        return body[:200].decode(errors="replace").strip() or None
