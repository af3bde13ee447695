"""When a request may be tried again at another backend: how often, and what share of all requests.

Owns: that budget. Knows nothing about why a try failed. A share, so that when everything fails retries do not
multiply the load; a reserve, so that with few requests they are possible at all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RetryBudget:
    """Each request earns `ratio` of a retry, up to `reserve`; each retry costs one."""

    ratio: float = 0.2
    reserve: float = 10.0
    left: float = 10.0

    def request(self) -> None:
        """A request came."""
        self.left = min(self.reserve, self.left + self.ratio)

    def take(self) -> bool:
        """Whether one more try may be made; then it is paid for."""
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True
