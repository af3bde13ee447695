"""How long a request may still take: a deadline, set anew for each phase, never beyond the total.

Owns: the phases of waiting, and the one timer that watches over all requests. Knows nothing about what is
waited for. A timer for each request would cost it more than its routing; nearly none of them ever fires.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Protocol

from serving.gateway.limits import GatewayLimits

Wait = Literal["first byte", "next byte", "total", "shutdown"]

# Moving the deadline for each event would cost more than forwarding it. So it is set a tenth late, and moved
# only when a tenth of the limit has passed: a wait ends between 1.0 and 1.1 times its limit.
_SLACK = 0.1


class Loop(Protocol):
    """What of an event loop is used."""

    def time(self) -> float:
        """The present moment."""

    def call_at(self, when: float, callback: Callable[[], object]) -> Any:
        """Call back then; what is returned has `cancel()`."""


class Timer(Protocol):
    """What of `asyncio.Timeout` is used."""

    def expired(self) -> bool:
        """Whether it has ended the block."""

    def reschedule(self, when: float | None) -> None:
        """Let it end the block at this time of the loop's clock."""


class Waits:
    """The waits of one gateway's requests."""

    def __init__(self, limits: GatewayLimits, loop: Loop) -> None:
        self.limits = limits
        self.clock = loop.time
        self._loop = loop
        self._all: set[Patience] = set()
        self._due_s = math.inf
        """When the loop's timer fires: at the earliest deadline, or before, as deadlines move on."""
        self._timer: Any = None

    def begin(self, timer: Timer) -> Patience:
        """Watch over a request inside an `asyncio.timeout` block, until `end`."""
        patience = Patience(timer, self)
        self._all.add(patience)
        return patience

    def end(self, patience: Patience) -> None:
        """Its request is over."""
        self._all.discard(patience)

    def end_all(self) -> None:
        """Let every request time out at once, because the server is shutting down."""
        for patience in self._all:
            patience.end_now()

    def look_at(self, deadline_s: float) -> None:
        """See at this time, or before, which requests have waited for too long."""
        if deadline_s < self._due_s:
            if self._timer is not None:
                self._timer.cancel()
            self._due_s = deadline_s
            self._timer = self._loop.call_at(deadline_s, self._look)

    def _look(self) -> None:
        self._due_s, self._timer = math.inf, None
        now_s = self.clock()
        waiting = [patience for patience in self._all if not patience.ended_by(now_s)]
        self.look_at(min((patience.deadline_s for patience in waiting), default=math.inf))


class Patience:
    """Watches over one request."""

    __slots__ = ("_clock", "_end", "_limit", "_limits", "_set_at", "_timer", "_waits", "deadline_s", "wait")

    def __init__(self, timer: Timer, waits: Waits) -> None:
        self.wait: Wait = "first byte"
        self.deadline_s = math.inf
        self._timer = timer
        self._waits = waits
        self._clock = clock = waits.clock
        self._limits = limits = waits.limits
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

    def ended_by(self, now_s: float) -> bool:
        """Whether its deadline has come; then its request times out."""
        if now_s < self.deadline_s:
            return False
        if not self._timer.expired():
            self._timer.reschedule(now_s)
        return True

    def _set(self, now: float) -> None:
        self._set_at = now
        deadline = now + (1 + _SLACK) * self._limit
        if deadline >= self._end:
            deadline = self._end
            self.wait, self._limit = "total", self._limits.total_s
        self.deadline_s = deadline
        self._waits.look_at(deadline)
