"""One connection to an engine: a request out, its answer's bytes handed on the moment they come.

Owns: what happens on that socket. Knows nothing about pools, clients or what an answer means. No task and no
timer: bytes go from the socket's callback to the receiver.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from serving.gateway.upstream.answer import Answer, Broke, NotHttp, UpstreamFailed
from serving.gateway.upstream.framing import MAX_HEAD_BYTES, Framing, Nonsense, parse_head

MAX_READ_BYTES = 65_536
"""More at once, and with many busy streams each would wait long for its turn."""
_READ = memoryview(bytearray(MAX_READ_BYTES))
"""Where every connection's bytes arrive; they are copied out before anything else can."""


class UpstreamConnection(asyncio.BufferedProtocol):
    """A connection that carries one answer after another. `released` is told when it is free again."""

    def __init__(self, released: Callable[[UpstreamConnection], None]) -> None:
        self._released = released
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._framing: Framing | None = None
        self._buffer = b""
        self._keep = True
        self._no_body = False
        self._paused = False
        """By the receiver, who has enough for now."""
        self.used = False
        """Whether it carried an answer before the present one."""
        self.heard = False
        """Whether a byte of the present answer came."""
        self.idle_since_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        # Not every loop's transports say that they are asyncio's.
        self._transport = cast(asyncio.Transport, transport)

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

    def get_buffer(self, sizehint: int) -> memoryview:
        """Called by the loop."""
        return _READ

    def buffer_updated(self, nbytes: int) -> None:
        """Called by the loop."""
        self.data_received(_READ[:nbytes].tobytes())
        if nbytes == MAX_READ_BYTES and not self._paused and self._open():
            # There is more. asyncio comes back for it after the others; libuv would go on reading here.
            assert self._transport is not None
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._go_on)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes of the answer."""
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
        self._paused = True
        if self._transport is not None and self._open():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        self._paused = False
        self._go_on()

    def abort(self) -> None:
        """Cut the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def _open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _go_on(self) -> None:
        if self._transport is not None and self._open() and not self._paused:
            self._transport.resume_reading()

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
        for framed, piece in framing.feed(data):
            if framed:
                answer.take_framed(piece)
            else:
                answer.take_part(piece)
        if framing.complete and self._answer is answer:
            self._answer = None
            answer.whole()
            self.used = True
            if not self._keep or framing.leftover:
                self.abort()
            else:
                self.resume()
                self._released(self)
