"""Who sends a request, as the edge found it out.

Owns: the name that logs, stickiness and rates know a client by. Knows nothing about keys' hashes or files.

The seam between the edge and what is behind it: `PublicApp` finds the caller, reads the whole body, counts it
against the caller's rates and waits for admission; then it calls `Proxy.forward` with `Exchange.caller` and
`Exchange.body` set. The proxy asks for no key and reads nothing of the client's body itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A client: the `name` of its key, and a `key_id` that tells keys apart but opens nothing."""

    name: str | None = None
    key_id: str | None = None


ANONYMOUS = Caller()
"""Who calls where no keys are asked for."""
