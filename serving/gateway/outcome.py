"""What became of a request: notes while it runs (`Exchange`), one frozen `Outcome` at its end.

Owns: the kinds of outcome and the stamps of a request. Knows nothing about HTTP or metrics.
Stamps are integer nanoseconds of `time.monotonic_ns`, given in by whoever saw the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from serving.gateway.caller import ANONYMOUS, Caller

OutcomeKind = Literal["ok", "client_gone", "upstream_error", "timeout", "rejected", "error"]
"""ok: a whole answer. client_gone: the client left first. upstream_error: the engine failed (5xx, cut,
unreachable). timeout: one of our limits ended it. rejected: by us, or as a 4xx by the engine. error: ours."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request as it went. A stamp is None where the request did not come that far."""

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
    streamed: bool = False
    upstream_sent_ns: int | None = None
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    caller: Caller = ANONYMOUS
    body: bytes | None = None
    """The client's body, for as long as it may have to be sent (again)."""

    def outcome(self, ended_ns: int) -> Outcome:
        """Freeze the notes."""
        return Outcome(
            request_id=self.request_id,
            path=self.path,
            kind=self.kind,
            status=self.status,
            revision=self.revision,
            backend=self.backend,
            streamed=self.streamed,
            accepted_ns=self.accepted_ns,
            upstream_sent_ns=self.upstream_sent_ns,
            first_byte_ns=self.first_byte_ns,
            last_byte_ns=self.last_byte_ns,
            ended_ns=ended_ns,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            caller=self.caller,
        )
