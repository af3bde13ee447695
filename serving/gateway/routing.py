"""Which backend serves a request. Pure functions on values; a policy is one of them.

Owns: the choice. Knows nothing about requests on the wire, time or metrics.
"""

from __future__ import annotations

from collections.abc import Iterable

from serving.gateway.backends import Backend


def choose(backends: Iterable[Backend]) -> Backend | None:
    """The ready backend with the fewest requests in flight, the first of equals; None if none is ready."""
    ready = (backend for backend in backends if backend.state == "ready")
    return min(ready, key=lambda backend: backend.in_flight, default=None)
