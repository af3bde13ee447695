"""What ends a request, or a run, that does not end by itself.

Owns: these limits. Knows nothing about who enforces them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. `idle_s` is silence, before the first byte too; `drain_s` is counted from the last send."""

    total_s: float = 600.0
    idle_s: float = 120.0
    connect_s: float = 10.0
    drain_s: float = 60.0
