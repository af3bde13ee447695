"""One connection to an engine: a request out, its answer's bytes handed on the moment they come.

Owns: what happens on that socket, and the reasons for which an answer fails. Knows nothing about pools,
clients or what an answer means. No task and no timer: bytes go from the socket's callback to the receiver.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from serving.gateway.upstream.framing import MAX_HEAD_BYTES, Framing, Head, Nonsense, parse_head, unframed


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


class Receiver(Protocol):
    """Takes the body of an answer as it comes, from within the socket's callback."""

    def framed(self, chunks: bytes) -> None:
        """Whole chunks, with their framing."""

    def part(self, data: bytes) -> None:
        """Bytes of the body without framing."""


class Answer:
    """One answer of an engine, from the request on. Its body waits here until someone takes it."""

    def __init__(self, connection: UpstreamConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._over = False
        self._came: asyncio.Future[None] | None = None
        self.headed: asyncio.Future[Head] = loop.create_future()
        """The head, once it came; else UpstreamFailed."""
        self.finished: asyncio.Future[None] = loop.create_future()
        """Done when the whole body was handed on; else UpstreamFailed."""
        # Whoever gives up between the two leaves a failure that nobody reads.
        self.finished.add_done_callback(self._ended)
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
        self._connection.resume()

    def waiting(self) -> bytes:
        """The body so far, while no receiver has it."""
        return b"".join(unframed(data) if is_framed else data for is_framed, data in self._waiting)

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its proper end."""
        return self.finished.done() and not self.finished.cancelled() and self.finished.exception() is None

    async def more(self) -> None:
        """Wait until more of the body came, or it ended, while no receiver has it."""
        self._came = self._came if self._came and not self._came.done() else self._loop.create_future()
        await self._came

    async def read(self, limit_bytes: int) -> bytes:
        """The whole body, or about its first `limit_bytes`. Raises: UpstreamFailed."""
        collected = _Collected(limit_bytes, self._connection.abort)
        self.deliver_to(collected)
        try:
            await asyncio.shield(self.finished)
        except Broke:
            if not collected.full:
                raise
        return b"".join(collected.parts)[:limit_bytes]

    def pause(self) -> None:
        """Read no more of the engine for now."""
        self._connection.pause()

    def resume(self) -> None:
        """Read on."""
        self._connection.resume()

    def close(self) -> None:
        """Cut the connection unless the answer is whole: this is what tells an engine to stop working."""
        if not self._over:
            self._connection.abort()
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

    def failed(self, error: UpstreamFailed) -> None:
        """Called by the connection when there will be no more."""
        self._over = True
        if not self.headed.done():
            self.headed.set_exception(error)
            self.headed.exception()
        if not self.finished.done():
            self.finished.set_exception(error)

    def _ended(self, finished: asyncio.Future[None]) -> None:
        if not finished.cancelled():
            finished.exception()
        self._wake()

    def _wake(self) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(None)

    def _wait(self, is_framed: bool, data: bytes) -> None:
        self._waiting.append((is_framed, data))
        self._waiting_bytes += len(data)
        self._wake()
        if self._waiting_bytes > self._limit:
            self._connection.pause()


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


class UpstreamConnection(asyncio.Protocol):
    """A connection that carries one answer after another. `released` is told when it is free again."""

    def __init__(self, released: Callable[[UpstreamConnection], None]) -> None:
        self._released = released
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._framing: Framing | None = None
        self._buffer = b""
        self._keep = True
        self._no_body = False
        self.used = False
        """Whether it carried an answer before the present one."""
        self.heard = False
        """Whether a byte of the present answer came."""
        self.idle_since_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @property
    def usable(self) -> bool:
        """Whether a request may be sent."""
        return self._transport is not None and self._answer is None and not self._transport.is_closing()

    def send(
        self, head: bytes, body: bytes | None, *, no_body: bool, loop: asyncio.AbstractEventLoop
    ) -> Answer:
        """Send a request; the answer comes by itself."""
        assert self._transport is not None
        answer = self._answer = Answer(self, loop)
        self._framing, self._buffer, self._no_body, self.heard = None, b"", no_body, False
        if not body:
            self._transport.write(head)
        elif len(body) < MAX_HEAD_BYTES:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        return answer

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        answer, framing = self._answer, self._framing
        if answer is None:
            self.abort()  # An engine that speaks without being asked cannot be understood.
            return
        try:
            if framing is None:
                self.heard = True
                self._head(answer, data)
            else:
                self._body(answer, framing, data)
        except Nonsense as error:
            self.abort()
            self._fail(NotHttp(str(error)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._transport = None
        answer, framing = self._answer, self._framing
        if answer is not None:
            if exc is None and framing is not None and framing.until_close:
                self._answer = None
                answer.whole()
            elif self._buffer and framing is None and not self._buffer.startswith(b"HTTP/"):
                self._fail(NotHttp(f"not an HTTP/1.1 status line: {self._buffer[:80]!r}"))
            else:
                self._fail(Broke("the connection ended"))
        self._released(self)

    def pause(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Cut the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: UpstreamFailed) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.failed(error)

    def _head(self, answer: Answer, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = parse_head(self._buffer[:end])
            self._buffer = self._buffer[end + 4 :]
            if head.status >= 200:
                rest, self._buffer = self._buffer, b""
                self._keep = head.keep_alive
                framing = self._framing = Framing(head, no_body=self._no_body)
                answer.headed.set_result(head)
                self._body(answer, framing, rest)
                return
        if len(self._buffer) > MAX_HEAD_BYTES:
            raise Nonsense(f"a head of more than {MAX_HEAD_BYTES} bytes")

    def _body(self, answer: Answer, framing: Framing, data: bytes) -> None:
        taken = framing.feed(data)
        if taken.framed:
            answer.take_framed(taken.framed)
        for part in taken.parts:
            answer.take_part(part)
        if framing.complete and self._answer is answer:
            self._answer = None
            answer.whole()
            self.used = True
            if not self._keep or framing.leftover:
                self.abort()
            else:
                self.resume()
                self._released(self)
