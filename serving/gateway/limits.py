"""The limits of one request: sizes and how long each wait may last.

Owns: the names and defaults of the limits. Knows nothing about how they are enforced.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """Generous by default: they end what is stuck, and must never end what is only slow."""

    max_body_bytes: int = 10 * 1024**2
    body_s: float = 60.0
    """From the request's head to the last byte of its body."""
    connect_s: float = 3.0
    first_byte_s: float = 1800.0
    """From sending to the answer's head. An answer that is not streamed has none before its last token."""
    between_bytes_s: float = 300.0
    """The longest silence inside an answer."""
    total_s: float = 7200.0
    idle_client_s: float = 75.0
    """How long a client may keep a connection, or the head of a request, waiting."""
    idle_upstream_s: float = 3.0
    """Kept below the engine's own five seconds (uvicorn's default), or requests would meet its closing."""
    farewell_s: float = 5.0
    """How long a client may take to read the error that ends its stream."""
    retry_after_s: int = 2
    """What a refused client is told to wait."""
    max_answer_bytes: int = 64 * 1024**2
    """The most that is held of an answer that must be looked at as a whole."""
    max_error_bytes: int = 1024**2
    """The most that is read of an engine's error answer, and of its list of models."""
