"""What became of a request: notes while it runs (`Exchange`), one frozen `Outcome` at its end.

Owns: the kinds of outcome and the stamps of a request. Knows nothing about HTTP or metrics.
Stamps are integer nanoseconds of `time.monotonic_ns`, given in by whoever saw the event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple

from serving.gateway.caller import ANONYMOUS, Caller

OutcomeKind = Literal["ok", "client_gone", "upstream_error", "timeout", "rejected", "error"]
"""ok: a whole answer. client_gone: the client left first. upstream_error: the engine failed (5xx, cut,
unreachable). timeout: one of our limits ended it. rejected: by us, or as a 4xx by the engine. error: ours."""
Traffic = Literal["client", "shadow"]
"""Whose answer it was: a client's, or one that was thrown away."""
Fallback = Literal["prefill_failed", "transfer_failed"]
"""Why a divided request was answered in another way: its prefill leg failed, or its blocks did not come."""

Missed = tuple[str, str, str]
"""Revision, role and address of a backend that was tried in vain."""


class Gaps:
    """How often the pieces of one answer were how far apart, by histogram bounds."""

    __slots__ = ("bounds_ns", "counts")

    def __init__(self, bounds_ns: tuple[int, ...]) -> None:
        self.bounds_ns = bounds_ns
        self.counts = [0] * (len(bounds_ns) + 1)
        """One count a bound (gaps up to it and above the one before), and one for all longer gaps."""

    def add(self, gap_ns: int) -> None:
        """Count one gap."""
        self.counts[bisect_left(self.bounds_ns, gap_ns)] += 1


class Outcome(NamedTuple):
    """One request as it went. A stamp is None where the request did not come that far.

    A tuple, for to build a frozen dataclass of so many fields costs more than to route the request.
    """

    request_id: str
    path: str
    """The route, never the client's own spelling, so that its values are few."""
    kind: OutcomeKind
    status: int | None
    """The status on the wire; None if the client left before one was sent."""
    revision: str | None
    backend: str | None
    streamed: bool
    accepted_ns: int
    upstream_sent_ns: int | None
    first_byte_ns: int | None
    last_byte_ns: int | None
    ended_ns: int
    bytes_in: int
    bytes_out: int
    role: str | None = None
    admitted_ns: int | None = None
    """When its wait for admission was over; None: it did not wait."""
    tokens_in: int | None = None
    """As the engine counted them; None: its answer did not say."""
    tokens_out: int | None = None
    gaps: Gaps | None = None
    missed: tuple[Missed, ...] = ()
    """The backends that failed before one answered, or before it was given up."""
    fallback: Fallback | None = None
    lent: bool = False
    """Whether another revision than the one it was due to was asked, because that could not answer."""
    prefill_s: float | None = None
    """How long the first leg of a divided request took, however it ended."""
    reused: bool | None = None
    """Whether it went over a kept connection; None: it did not get to a backend."""
    traffic: Traffic = "client"
    caller: Caller = ANONYMOUS


@dataclass(slots=True)
class Exchange:
    """The notes kept while a request runs. Unless someone says otherwise it was our fault."""

    request_id: str
    path: str
    accepted_ns: int
    kind: OutcomeKind = "error"
    status: int | None = None
    revision: str | None = None
    backend: str | None = None
    role: str | None = None
    streamed: bool = False
    admitted_ns: int | None = None
    upstream_sent_ns: int | None = None
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    ended_ns: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    gaps: Gaps | None = None
    missed: tuple[Missed, ...] = ()
    fallback: Fallback | None = None
    lent: bool = False
    prefill_s: float | None = None
    reused: bool | None = None
    traffic: Traffic = "client"
    caller: Caller = ANONYMOUS
    body: bytes | None = field(default=None)
    """The client's body, for as long as it may have to be sent (again)."""
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    """What the edge adds to the answer's headers (CORS)."""
    engine_headers: Mapping[str, str] = field(default_factory=dict)
    """What the edge adds to the headers sent to an engine (tracing)."""

    def arrived(self, now_ns: int, size_bytes: int) -> None:
        """Note that a piece of the answer was forwarded."""
        last_ns = self.last_byte_ns
        if last_ns is None:
            self.first_byte_ns = now_ns
        elif self.gaps is not None:
            self.gaps.add(now_ns - last_ns)
        self.last_byte_ns = now_ns
        self.bytes_out += size_bytes

    def outcome(self, ended_ns: int) -> Outcome:
        """Freeze the notes."""
        self.ended_ns = ended_ns
        return Outcome._make(_notes_of(self))


_notes_of = attrgetter(*Outcome._fields)
