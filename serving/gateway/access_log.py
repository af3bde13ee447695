"""The access log: one line a request.

Owns: what a line says (no prompt, no key, no query, no address) and where it goes. Knows nothing about
requests in progress.
"""

from __future__ import annotations

import logging
from typing import TextIO

from serving.gateway.outcome import Outcome

access_logger = logging.getLogger("teapot.gateway.access")
"""One line a request at INFO, so off unless asked for."""


def access_line(outcome: Outcome) -> str:
    """One request as a line; `by=` is the name of its key, where keys are asked for."""
    duration_ms = (outcome.ended_ns - outcome.accepted_ns) / 1e6
    by = f" by={outcome.caller.name}" if outcome.caller.name else ""
    return (
        f"{outcome.request_id} {outcome.path} {outcome.status or '-'} {outcome.kind} "
        f"{duration_ms:.1f}ms in={outcome.bytes_in} out={outcome.bytes_out}{by}"
    )


def switch_on(stream: TextIO) -> None:
    """Write the access log to `stream` from now on; a second call changes nothing."""
    if access_logger.handlers:
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    access_logger.addHandler(handler)
    access_logger.setLevel(logging.INFO)
    access_logger.propagate = False
