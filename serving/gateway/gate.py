"""The door to the engines: a request waits here for its place, within a time, and gives it back.

Owns: waiting in time for what `Admission` decides. Knows nothing about who may enter or what is done inside.
"""

from __future__ import annotations

import asyncio

from serving.gateway.admission import Admission
from serving.gateway.answers import Refused, retry_after
from serving.gateway.settings import EdgeSettings

_Ticket = asyncio.Future[None]


class Gate:
    """The places of one gateway. Made inside a running event loop."""

    def __init__(self, settings: EdgeSettings, retry_after_s: int) -> None:
        self._admission: Admission[_Ticket] = Admission(settings.max_in_flight, settings.queue)
        self._timeout_s = settings.queue_timeout_s
        self._retry_after_s = retry_after_s

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return self._admission.waiting

    def end_all(self) -> None:
        """Send away all who wait, because the server is shutting down."""
        for ticket in self._admission.dismiss():
            if not ticket.done():
                ticket.set_exception(self._refused("the server is shutting down", "shutting_down"))

    async def __aenter__(self) -> None:
        """Take a place for the length of the block. Raises: Refused (503) if none is to be had in time."""
        if not self._admission.take():
            await self._wait()

    async def __aexit__(self, *why: object) -> None:
        self._leave()

    async def _wait(self) -> None:
        ticket: _Ticket = asyncio.get_running_loop().create_future()
        decision = self._admission.ask(ticket)
        if decision == "admitted":
            return
        if decision == "full":
            raise self._refused("the queue for the engines is full", "queue_full")
        try:
            async with asyncio.timeout(self._timeout_s):
                await ticket
        except TimeoutError as error:
            self._abandon(ticket)
            message = f"no engine was free within {self._timeout_s:g} s"
            raise self._refused(message, "queue_timeout") from error
        except asyncio.CancelledError:
            self._abandon(ticket)
            raise

    def _abandon(self, ticket: _Ticket) -> None:
        # The place may have been given in the same moment: then it goes to the next.
        granted = ticket.done() and not ticket.cancelled() and ticket.exception() is None
        if not self._admission.leave(ticket) and granted:
            self._leave()

    def _leave(self) -> None:
        """Give a place back."""
        following = self._admission.done()
        # Who was cancelled has not left yet: the place goes on.
        while following is not None and following.done():
            following = self._admission.done()
        if following is not None:
            following.set_result(None)

    def _refused(self, message: str, code: str) -> Refused:
        return Refused(503, message, code=code, headers=retry_after(self._retry_after_s))
