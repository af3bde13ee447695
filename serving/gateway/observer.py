"""Who is told of each request at its end: the metrics, or in a worker process the way to them.

Owns: what such a one offers. Knows nothing about metrics.
"""

from __future__ import annotations

from typing import Protocol

from serving.gateway.outcome import Outcome


class Observer(Protocol):
    """Takes outcomes."""

    @property
    def gap_bounds_ns(self) -> tuple[int, ...]:
        """Where the gaps of an answer are to be divided into classes."""

    def observe(self, outcome: Outcome) -> None:
        """Count a request that has ended."""
