"""Whether a request is divided, and the bodies of its legs.

Owns: that decision and what each leg is sent. Knows nothing about HTTP or engines; the bodies' changes are
the connector's (`serving.connectors`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serving.connectors.connector import Body, Legs

DIVISIBLE = ("/v1/chat/completions", "/v1/completions")
BYTES_PER_TOKEN = 4
"""Of English text; a low guess for other scripts, which then go to the prefilling engine all the sooner."""
_FAILED_EVENT = re.compile(rb'(?:^|\n)data: ?\{"error"')
_EVENT_END = re.compile(rb"\r?\n\r?\n")


@dataclass(slots=True)
class DividedBodies:
    """What the two legs of one request are sent."""

    legs: Legs
    document: Body
    params: Body | None = field(default=None)
    """From the prefilling engine; None before, and after they were used."""

    def first(self) -> bytes:
        """For the prefilling engine."""
        return _dump(self.legs.prefill_body(self.document))

    def take_params(self, answer: bytes) -> bool:
        """Read the prefilling engine's answer; False if there is nothing to transfer."""
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError):
            return False
        self.params = self.legs.params_of(document) if isinstance(document, Mapping) else None
        return self.params is not None

    def second(self) -> bytes:
        """For the decoding engine, once: then the params are used up."""
        params, self.params = self.params, None
        if params is None:
            raise RuntimeError("the params of a transfer are used once")
        return _dump(self.legs.decode_body(self.document, params))


def divide(path: str, body: bytes, legs: Legs | None, from_tokens: int) -> DividedBodies | None:
    """The bodies of a request that is worth dividing and may be; None: one engine answers it.

    `body` is free of a client's own params. A body that cannot be read is the engine's to refuse.
    """
    if legs is None or path not in DIVISIBLE or len(body) < from_tokens * BYTES_PER_TOKEN:
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or legs.whole(document) is not None:
        return None
    return DividedBodies(legs, document)


def first_events_fail(body: bytes) -> bool:
    """Whether a stream begins with an error: vLLM answers 200 before it knows that blocks did not come."""
    return _FAILED_EVENT.search(body) is not None


def enough_to_judge(path: str, body: bytes) -> bool:
    """Whether `first_events_fail` can be trusted: a chat's first event is its role, which is sent before."""
    wanted = 2 if path == "/v1/chat/completions" else 1
    return len(_EVENT_END.findall(body)) >= wanted


def _dump(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
