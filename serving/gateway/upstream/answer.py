"""One answer of an engine, from the request on, and the reasons for which it fails.

Owns: who gets its bytes, and keeping them until somebody wants them. Knows nothing about sockets or HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from serving.gateway.upstream.framing import MAX_HEAD_BYTES, Head, unframed


class UpstreamFailed(Exception):
    """An engine did not give a whole answer."""


class CannotConnect(UpstreamFailed):
    """No connection: nothing was sent. `timed_out`: it was neither accepted nor refused."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Broke(UpstreamFailed):
    """The connection ended before the answer did."""


class NotHttp(UpstreamFailed):
    """The answer is not HTTP."""


class KeyRefused(UpstreamFailed):
    """A server elsewhere does not take the key that we sent."""


class Source(Protocol):
    """Where an answer comes from."""

    def pause(self) -> None:
        """Read no more for now."""

    def resume(self) -> None:
        """Read on."""

    def abort(self) -> None:
        """Cut the connection now."""


class Receiver(Protocol):
    """Takes the body of an answer as it comes, from within the socket's callback."""

    def framed(self, chunks: bytes) -> None:
        """Whole chunks, with their framing."""

    def part(self, data: bytes) -> None:
        """Bytes of the body without framing."""


class Answer:
    """One answer of an engine, from the request on. Its body waits here until someone takes it."""

    def __init__(self, source: Source, loop: asyncio.AbstractEventLoop) -> None:
        self._source = source
        self._loop = loop
        self._over = False
        self._came: asyncio.Future[None] | None = None
        self.headed: asyncio.Future[Head] = loop.create_future()
        """The head, once it came; else UpstreamFailed."""
        self.finished: asyncio.Future[None] = loop.create_future()
        """Done when the whole body was handed on; else UpstreamFailed."""
        self._receiver: Receiver | None = None
        self._waiting: list[tuple[bool, bytes]] = []
        self._waiting_bytes = 0
        self._limit = MAX_HEAD_BYTES

    def deliver_to(self, receiver: Receiver) -> None:
        """Hand on what came already, and from now on every byte at once."""
        self._receiver = receiver
        waiting, self._waiting = self._waiting, []
        for is_framed, data in waiting:
            (receiver.framed if is_framed else receiver.part)(data)
        self._waiting_bytes = 0
        self._source.resume()

    def waiting(self) -> bytes:
        """The body so far, while no receiver has it."""
        return b"".join(unframed(data) if is_framed else data for is_framed, data in self._waiting)

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its proper end."""
        return self.finished.done() and not self.finished.cancelled() and self.finished.exception() is None

    async def more(self) -> None:
        """Wait until more of the body came, or it ended, while no receiver has it."""
        if self.finished.done():
            return
        self._came = self._came if self._came and not self._came.done() else self._loop.create_future()
        await self._came

    async def read(self, limit_bytes: int) -> bytes:
        """The whole body, or about its first `limit_bytes`. Raises: UpstreamFailed."""
        collected = _Collected(limit_bytes, self._source.abort)
        self.deliver_to(collected)
        try:
            await asyncio.shield(self.finished)
        except Broke:
            if not collected.full:
                raise
        return b"".join(collected.parts)[:limit_bytes]

    def pause(self) -> None:
        """Read no more of the engine for now. After its end the connection is another answer's."""
        if not self._over:
            self._source.pause()

    def resume(self) -> None:
        """Read on."""
        if not self._over:
            self._source.resume()

    def close(self) -> None:
        """Cut the connection unless the answer is whole: this is what tells an engine to stop working."""
        if not self._over:
            self._source.abort()
            self.failed(Broke("given up"))

    def take_framed(self, chunks: bytes) -> None:
        """Called by the connection."""
        if self._receiver is not None:
            self._receiver.framed(chunks)
        else:
            self._wait(True, chunks)

    def take_part(self, data: bytes) -> None:
        """Called by the connection."""
        if self._receiver is not None:
            self._receiver.part(data)
        else:
            self._wait(False, data)

    def whole(self) -> None:
        """Called by the connection when the body was handed on to its end."""
        self._over = True
        if not self.finished.done():
            self.finished.set_result(None)
        self._wake()

    def failed(self, error: UpstreamFailed) -> None:
        """Called by the connection when there will be no more."""
        self._over = True
        if not self.headed.done():
            self.headed.set_exception(error)
            self.headed.exception()
        if not self.finished.done():
            self.finished.set_exception(error)
            # Whoever gave up between the two leaves a failure that nobody reads.
            self.finished.exception()
        self._wake()

    def _wake(self) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(None)

    def _wait(self, is_framed: bool, data: bytes) -> None:
        self._waiting.append((is_framed, data))
        self._waiting_bytes += len(data)
        self._wake()
        if self._waiting_bytes > self._limit:
            self._source.pause()


class _Collected:
    """Keeps a body, up to a limit."""

    def __init__(self, limit_bytes: int, stop: Callable[[], None]) -> None:
        self.parts: list[bytes] = []
        self.full = False
        self._left = limit_bytes
        self._stop = stop

    def framed(self, chunks: bytes) -> None:
        self.part(unframed(chunks))

    def part(self, data: bytes) -> None:
        self.parts.append(data)
        self._left -= len(data)
        if self._left <= 0 and not self.full:
            self.full = True
            self._stop()
