"""One request as it was planned (`Planned`, timetable.jsonl) and as it went (`RequestRecord`, records.jsonl).

Owns: the two line formats of the run folder and their JSON. Knows nothing about how requests are
sent or what is computed from the records. Stamps are integer nanoseconds of one monotonic clock
(`time.perf_counter_ns`), relative to the run's origin, which the manifest ties to the wall clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

RECORD_SCHEMA = 1
Outcome = Literal["ok", "failed", "cut"]
"""ok: a complete answer; failed: an error or a broken stream; cut: the run ended it."""
TokenSource = Literal["usage", "tokenizer", "none"]
Phase = Literal["warmup", "measure"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A request of the timetable. `t_intended_ns` is None for a closed loop (sent when a slot is free)."""

    index: int
    phase: Phase
    t_intended_ns: int | None
    kind: str
    """The kind of prompt, for tables by kind: `random`, `code`, `translate` ..."""
    path: str
    """`/v1/chat/completions`, `/v1/completions`, `/v1/responses` or `/v1/embeddings`."""
    body: Mapping[str, Any]
    """Open assistant messages in it are filled with the answers so far (`loadgen.conversation`)."""
    conversation: int | None = None
    """The number of the conversation it is part of: its turns follow each other, in the order of `turn`."""
    turn: int = 0
    """From 0. A later turn has no time of its own: it is due `think_s` after the answer before it ended."""
    think_s: float = 0.0
    stage: int | None = None
    """The stage of the arrivals, from 0, in which it is meant to be sent."""

    def to_json(self) -> str:
        """One line of timetable.jsonl, without the line end."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Planned:
        """Read a line of timetable.jsonl. Raises: KeyError, TypeError, ValueError on a wrong line."""
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """How one request went. All `*_ns` are relative to the run's origin.

    `output_ns[i]` is the socket-read stamp of output event i (content, reasoning or tool call;
    never role-only, empty, usage or [DONE] events) and `output_tokens_by_event[i]` its number of
    tokens where the server told it (continuous usage or token ids), else the list is empty.
    """

    index: int
    phase: Phase
    kind: str
    outcome: Outcome
    t_intended_ns: int | None
    t_sent_ns: int
    t_end_ns: int
    """The last byte, or when the failure was seen."""
    t_headers_ns: int | None = None
    t_first_visible_ns: int | None = None
    """First content event (after reasoning), for TTFO."""
    output_ns: tuple[int, ...] = ()
    output_tokens_by_event: tuple[int, ...] = ()
    events: Mapping[str, int] = field(default_factory=dict)
    """Count of SSE events by class (`serving.wire.chunks.EventClass` values)."""
    http_status: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_source: TokenSource = "none"
    finish_reason: str | None = None
    request_id: str | None = None
    error: str | None = None
    bytes_in: int = 0
    worker: int = 0
    schema: int = RECORD_SCHEMA

    def to_json(self) -> str:
        """One line of records.jsonl, without the line end."""
        # Not asdict(), which copies every stamp: this runs while other streams are being stamped.
        row = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(row, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> RequestRecord:
        """Read a line of records.jsonl. Raises: KeyError, TypeError, ValueError on a wrong line."""
        row = json.loads(line)
        row["output_ns"] = tuple(row["output_ns"])
        row["output_tokens_by_event"] = tuple(row["output_tokens_by_event"])
        return cls(**row)
