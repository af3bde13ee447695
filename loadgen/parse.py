"""From the raw bytes of one exchange and the stamps of their reads to its record.

Owns: the definitions of when output began and ended, and what made a request ok, failed or cut.
Knows nothing about sockets, files or who else is streaming: it is done after the stream has ended,
and not in the process that stamps (deploy/decisions/0005).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from loadgen.records import Outcome, Planned, RequestRecord
from serving.wire import chunks, problems, sse
from serving.wire.chunks import Chunk, EventClass, Usage
from serving.wire.http1 import BrokenMessage, ResponseFraming

EMBEDDINGS_PATH = "/v1/embeddings"
"""Its answers are no streams: the whole answer is one output event, with the stamp of its last byte."""


@dataclass(slots=True)
class Capture:
    """What was seen of one exchange. Stamps are raw `perf_counter_ns`: `stamps[i]` is the read that
    gave `parts[i]`."""

    t_sent_ns: int
    t_end_ns: int = 0
    parts: list[bytes] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    closed: bool = False
    """The peer closed the connection."""
    cut: bool = False
    """The run ended the exchange."""
    error: str | None = None
    """What broke the exchange, where it was not the server's own answer."""


@dataclass(slots=True)
class _Answer:
    """The bytes of an exchange with their HTTP framing."""

    raw: bytes
    framing: ResponseFraming
    broken: str | None

    @classmethod
    def of(cls, capture: Capture) -> _Answer:
        raw, framing, broken = b"".join(capture.parts), ResponseFraming(), None
        try:
            framing.feed(raw)
        except BrokenMessage as error:
            broken = f"not an HTTP answer: {error}"
        if capture.closed:
            framing.close()
        return cls(raw, framing, broken)

    @property
    def kind(self) -> str:
        """The media type."""
        return (self.framing.header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def streams(self) -> bool:
        return self.framing.status == 200 and self.kind == "text/event-stream"

    def body(self) -> bytes:
        """Without head and chunks."""
        return b"".join(self.raw[s.raw_start : s.raw_start + s.length] for s in self.framing.segments)


def record(
    capture: Capture, planned: Planned, *, origin_ns: int, measure_start_ns: int, worker: int = 0
) -> RequestRecord:
    """The record of an exchange.

    Intended times are relative to `measure_start_ns`, the record's to `origin_ns` (both raw stamps).
    """
    answer = _Answer.of(capture)
    stamps = _Stamps(capture, answer.framing, origin_ns)
    seen = _Seen(stamps)
    if answer.streams:
        decoder = sse.SseDecoder()
        seen.take(decoder.feed(answer.body()))
        seen.take(filter(None, [decoder.close()]))
    elif planned.path == EMBEDDINGS_PATH and answer.framing.status == 200:
        seen.take_whole(answer.body(), len(answer.raw))
    failure = capture.error or answer.broken or _failure(answer, seen)
    intended, head, usage = planned.t_intended_ns, answer.framing.head_bytes, seen.usage
    return RequestRecord(
        index=planned.index,
        phase=planned.phase,
        kind=planned.kind,
        outcome=_outcome(capture, failure),
        t_intended_ns=None if intended is None else intended + measure_start_ns - origin_ns,
        t_sent_ns=capture.t_sent_ns - origin_ns,
        t_end_ns=capture.t_end_ns - origin_ns,
        t_headers_ns=_Stamps(capture, answer.framing, origin_ns).at_raw(head) if head else None,
        t_first_visible_ns=seen.first_visible_ns,
        output_ns=tuple(seen.output_ns),
        output_tokens_by_event=chunks.tokens_by_output_event(seen.chunks),
        events=dict(seen.counts),
        http_status=answer.framing.status or None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        output_tokens_source="usage" if usage and usage.completion_tokens is not None else "none",
        finish_reason=seen.finish_reason,
        request_id=seen.request_id,
        error="the run ended before the answer did" if capture.cut else failure,
        bytes_in=len(answer.raw),
        worker=worker,
    )


def answer_text(capture: Capture) -> str | None:
    """The visible text of a complete answer, for the next turn of its conversation; None if it failed."""
    answer = _Answer.of(capture)
    seen = _Seen(_Stamps(capture, answer.framing, 0))
    if answer.streams:
        seen.take(sse.decode(answer.body()))
    if capture.cut or capture.error or answer.broken or _failure(answer, seen):
        return None
    return "".join(chunk.visible_text for chunk in seen.chunks)


class _Stamps:
    """From offsets to the stamps of the reads that delivered them; asked in ascending order only."""

    def __init__(self, capture: Capture, framing: ResponseFraming, origin_ns: int) -> None:
        self._stamps, self._segments, self._origin_ns = capture.stamps, framing.segments, origin_ns
        self._ends = list(accumulate(map(len, capture.parts)))
        self._segment = self._read = 0

    def at_body(self, body_end: int) -> int:
        """The stamp of the read that completed the first `body_end` bytes of the body."""
        segments = self._segments
        while (part := segments[self._segment]).body_start + part.length < body_end:
            self._segment += 1
        return self.at_raw(part.raw_start + body_end - part.body_start)

    def at_raw(self, raw_end: int) -> int:
        """The stamp of the read that completed the first `raw_end` raw bytes."""
        ends = self._ends
        while ends[self._read] < raw_end:
            self._read += 1
        return self._stamps[self._read] - self._origin_ns


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

    def take_whole(self, body: bytes, raw_end: int) -> None:
        """Take in an answer of embeddings: no tokens come out, and all of it comes at once."""
        try:
            document = json.loads(body)
        except ValueError:
            document = None
        if not isinstance(document, Mapping) or "data" not in document:
            self.error = f"no embeddings but {body[:80].decode(errors='replace')!r}"
            return
        stamp_ns = self.stamps.at_raw(raw_end)
        usage: Mapping[str, Any] = document.get("usage") or {}
        self.counts["embedding"] += 1
        self.output_ns.append(stamp_ns)
        self.usage = Usage(prompt_tokens=usage.get("prompt_tokens"), completion_tokens=0)
        self.done = True

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


def _outcome(capture: Capture, failure: str | None) -> Outcome:
    if capture.cut:
        return "cut"
    return "failed" if failure else "ok"


def _failure(answer: _Answer, seen: _Seen) -> str | None:
    """Why what came is not a complete answer; None if it is."""
    framing = answer.framing
    if framing.head_bytes is None:
        return "the server closed without an answer"
    if framing.status != 200:
        return f"HTTP {framing.status}: {_message(answer.body()) or framing.reason}".rstrip(": ")
    if seen.error:
        return f"error in the stream: {seen.error}" if answer.streams else seen.error
    if seen.done or (answer.streams and seen.finish_reason):
        return None
    if not answer.streams:
        return f"answered with {framing.header('content-type') or 'no content type'} and not a stream"
    return "the stream broke off before its end"


def _message(body: bytes) -> str | None:
    try:
        return problems.message_of(json.loads(body))
    except ValueError:
        return body[:200].decode(errors="replace").strip() or None
