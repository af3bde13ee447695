"""How long a request may still take: one timer, set anew for each phase, never beyond the total.

Owns: the phases of waiting. Knows nothing about what is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from serving.gateway.limits import GatewayLimits

Wait = Literal["first byte", "next byte", "total", "shutdown"]

# Moving the timer for each event would cost more than forwarding it. So it is set a tenth late, and moved
# only when a tenth of the limit has passed: a wait ends between 1.0 and 1.1 times its limit.
_SLACK = 0.1


class Timer(Protocol):
    """What of `asyncio.Timeout` is used."""

    def expired(self) -> bool:
        """Whether it has ended the block."""

    def reschedule(self, when: float | None) -> None:
        """Let it end the block at this time of the loop's clock."""


class Patience:
    """Watches over one request from inside an `asyncio.timeout` block."""

    def __init__(self, timer: Timer, limits: GatewayLimits, clock: Callable[[], float]) -> None:
        self.wait: Wait = "first byte"
        self._timer = timer
        self._clock = clock
        self._limits = limits
        self._end = clock() + limits.total_s
        self._limit = limits.total_s
        self._set_at = 0.0

    @property
    def limit_s(self) -> float:
        """The limit of the present wait."""
        return self._limit

    def expect(self, wait: Wait, limit_s: float) -> None:
        """Begin a wait of at most about `limit_s`."""
        self.wait = wait
        self._limit = limit_s
        self._set(self._clock())

    def progress(self) -> None:
        """What was waited for came, and the same wait begins anew."""
        now = self._clock()
        if now - self._set_at > _SLACK * self._limit:
            self._set(now)

    def end_now(self) -> None:
        """Let the request time out at once, because the server is shutting down."""
        if not self._timer.expired():
            self.wait = "shutdown"
            self._timer.reschedule(self._clock())

    def _set(self, now: float) -> None:
        self._set_at = now
        deadline = now + (1 + _SLACK) * self._limit
        if deadline >= self._end:
            deadline = self._end
            self.wait, self._limit = "total", self._limits.total_s
        self._timer.reschedule(deadline)
