"""Who may go to an engine, who waits, who is sent away: first come, first served.

Owns: the places and the queue. Knows nothing about time, tasks or requests: a ticket is any object.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Literal, TypeVar

Ticket = TypeVar("Ticket")
Decision = Literal["admitted", "queued", "full"]


class Admission(Generic[Ticket]):
    """At most `places` at once (None: any number) and at most `queue` waiting."""

    def __init__(self, places: int | None, queue: int) -> None:
        self.places = places
        self.queue = queue
        self.taken = 0
        self._waiting: OrderedDict[int, Ticket] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def take(self) -> bool:
        """Take a place, if one is free and nobody waits for it: nobody overtakes."""
        if self.places is None or (self.taken < self.places and not self._waiting):
            self.taken += 1
            return True
        return False

    def ask(self, ticket: Ticket) -> Decision:
        """Take a place, or the last place in the queue, or neither."""
        if self.take():
            return "admitted"
        if len(self._waiting) >= self.queue:
            return "full"
        self._waiting[id(ticket)] = ticket
        return "queued"

    def leave(self, ticket: Ticket) -> bool:
        """Leave the queue; False if the ticket was not in it, for it may have been admitted meanwhile."""
        return self._waiting.pop(id(ticket), None) is not None

    def done(self) -> Ticket | None:
        """Give a place back; who waited longest gets it and is returned."""
        if self.taken == 0:
            raise RuntimeError("a place was given back twice")
        if not self._waiting:
            self.taken -= 1
            return None
        _, ticket = self._waiting.popitem(last=False)
        return ticket

    def dismiss(self) -> list[Ticket]:
        """Send all away who wait, and return them."""
        sent = list(self._waiting.values())
        self._waiting.clear()
        return sent
