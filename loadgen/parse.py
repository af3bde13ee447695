"""From the raw bytes of one exchange and the stamps of their reads to its record.

Owns: the definitions of when output began and ended, and what made a request ok, failed or cut.
Knows nothing about sockets, files or who else is streaming. It works in slices, so that a long
answer can be read while other streams are being stamped.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from loadgen.records import Outcome, Planned, RequestRecord
from serving.wire import chunks, http1, problems, sse
from serving.wire.chunks import Chunk, EventClass

SLICE_BYTES = 4096
"""About 16 events: the longest that the stamps of other streams can be kept waiting (docs/load.md)."""


@dataclass(slots=True)
class Capture:
    """What was seen of one exchange. Stamps are raw `perf_counter_ns`; `ends[i]` is the number of
    bytes received when read i was stamped with `stamps[i]`."""

    t_sent_ns: int
    t_end_ns: int = 0
    parts: list[bytes] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    closed: bool = False
    """The peer closed the connection."""
    cut: bool = False
    """The run ended the exchange."""
    error: str | None = None
    """What broke the exchange, where it was not the server's own answer."""


@dataclass(frozen=True, slots=True)
class Timed:
    """An event of the stream with the stamp of the read that completed it."""

    chunk: Chunk
    stamp_ns: int


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
    raw = b"".join(capture.parts)
    response, error = _response(raw, capture)
    events: list[Timed] = []
    if response is not None and _is_stream(response):
        events = yield from _events(response, capture)
    failure = capture.error or error or _failure(response, events)
    output = [event for event in events if event.chunk.event_class.is_output]
    usage = next((e.chunk.usage for e in reversed(events) if e.chunk.usage), None)
    produced = usage.completion_tokens if usage else None
    head = response.head_bytes if response else None
    intended = planned.t_intended_ns
    return RequestRecord(
        index=planned.index,
        phase=planned.phase,
        kind=planned.kind,
        outcome=_outcome(capture, failure),
        t_intended_ns=None if intended is None else intended + measure_start_ns - origin_ns,
        t_sent_ns=capture.t_sent_ns - origin_ns,
        t_end_ns=capture.t_end_ns - origin_ns,
        t_headers_ns=_stamp_at(capture, head) - origin_ns if head else None,
        t_first_visible_ns=next((e.stamp_ns - origin_ns for e in output if e.chunk.visible_text), None),
        output_ns=tuple(event.stamp_ns - origin_ns for event in output),
        output_tokens_by_event=chunks.tokens_by_output_event(event.chunk for event in events),
        events=dict(Counter(event.chunk.event_class.value for event in events)),
        http_status=response.status or None if response else None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        output_tokens=produced,
        output_tokens_source="none" if produced is None else "usage",
        finish_reason=next((e.chunk.finish_reason for e in events if e.chunk.finish_reason), None),
        request_id=next((e.chunk.request_id for e in events if e.chunk.request_id), None),
        error="the run ended before the answer did" if capture.cut else failure,
        bytes_in=len(raw),
    )


def _response(raw: bytes, capture: Capture) -> tuple[http1.Response | None, str | None]:
    if not raw:
        return None, None if capture.error or capture.cut else "the server closed without an answer"
    try:
        return http1.decode(raw, closed=capture.closed), None
    except http1.BrokenMessage as broken:
        return None, f"not an HTTP answer: {broken}"


def _is_stream(response: http1.Response) -> bool:
    kind = response.header("content-type") or ""
    return response.status == 200 and kind.partition(";")[0].strip().lower() == "text/event-stream"


def _events(response: http1.Response, capture: Capture) -> Generator[None, None, list[Timed]]:
    decoder = sse.SseDecoder()
    timed: list[Timed] = []

    def take(events: Sequence[sse.SseEvent]) -> None:
        # A truncated event is none: half of its JSON may be missing.
        whole = [event for event in events if not event.truncated]
        ends = response.raw_ends([event.end for event in whole])
        timed.extend(
            Timed(chunks.classify(event), _stamp_at(capture, end))
            for event, end in zip(whole, ends, strict=True)
        )

    for start in range(0, len(response.body), SLICE_BYTES):
        take(decoder.feed(response.body[start : start + SLICE_BYTES]))
        yield
    last = decoder.close()
    take([last] if last else [])
    return timed


def _stamp_at(capture: Capture, raw_end: int) -> int:
    """The stamp of the read that delivered the last of the first `raw_end` bytes."""
    return capture.stamps[bisect_left(capture.ends, raw_end)]


def _outcome(capture: Capture, failure: str | None) -> Outcome:
    if capture.cut:
        return "cut"
    return "failed" if failure else "ok"


def _failure(response: http1.Response | None, events: Sequence[Timed]) -> str | None:
    """Why an answer that came is not a complete one; None if it is."""
    if response is None:
        return None
    if response.status != 200:
        said = _message(response.body) or response.reason
        return f"HTTP {response.status}: {said}".rstrip(": ")
    if not _is_stream(response):
        return f"answered with {response.header('content-type') or 'no content type'} and not a stream"
    for event in events:
        if event.chunk.event_class is EventClass.ERROR:
            return f"error in the stream: {event.chunk.error}"
    if not any(e.chunk.event_class is EventClass.DONE or e.chunk.finish_reason for e in events):
        return "the stream broke off before its end"
    return None


def _message(body: bytes) -> str | None:
    try:
        return problems.message_of(json.loads(body))
    except ValueError:
        return body[:200].decode(errors="replace").strip() or None
