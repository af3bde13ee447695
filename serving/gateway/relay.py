"""The client's side of one answer: the engine's bytes out, and an honest end when they break off.

Owns: forwarding bytes unchanged and at once, what is counted meanwhile, and how a broken answer ends.
Knows nothing about which engine is behind or how it is reached. Bytes are written from within the engine's
socket callback: an event costs no task, no timer and no copy.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from aiohttp import web

from serving.gateway.answer_usage import TAIL_BYTES
from serving.gateway.answers import Refused
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.patience import Patience
from serving.gateway.upstream.answer import Answer
from serving.gateway.upstream.framing import unframed
from serving.gateway.wire_head import Forwarded, framing, head_bytes

_LAST_CHUNK = b"0\r\n\r\n"
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class ClientGone(Exception):
    """The client closed its connection, or stopped reading, before its answer was whole."""


class Relay:
    """Forwards one answer. After `begin` the status is on the wire and cannot be taken back."""

    def __init__(self, request: web.BaseRequest, exchange: Exchange, limits: GatewayLimits) -> None:
        self._request = request
        self.exchange = exchange
        self._limits = limits
        self._response: Forwarded | None = None
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._patience: Patience | None = None
        self._chunked = False
        self._pending: list[bytes] | None = None
        self._tail = (b"", b"", b"")
        """The last three writes of the body, framed as they went out. No copy."""
        self._draining: asyncio.Task[None] | None = None

    @property
    def begun(self) -> bool:
        """Whether the client has received a status."""
        return self._response is not None

    async def forward(
        self, answer: Answer, status: int, headers: Mapping[str, str], patience: Patience
    ) -> web.StreamResponse:
        """Send the head and every byte as it comes, wait where the client is slow, and end the answer.

        Raises: ClientGone, UpstreamFailed.
        """
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ClientGone
        self._transport, self._answer, self._patience = transport, answer, patience
        self._chunked, keep = framing(self._request, status, headers)
        # What of the body is here already leaves with the head, in one write.
        self._pending = [head_bytes(self._request, status, headers, chunked=self._chunked, keep_alive=keep)]
        answer.deliver_to(self)
        whole = answer.is_whole
        if whole and self._chunked:
            self._pending.append(_LAST_CHUNK)
        pending, self._pending = b"".join(self._pending), None
        transport.write(pending)
        # Forwarded first; all else that has to be known by others comes after.
        self.exchange.status = status
        response = self._response = Forwarded(status, keep_alive=keep)
        # aiohttp must know that an answer has begun, or it would answer a broken next request in this one.
        self._request.writer.output_size = 1
        self._slow_down()
        try:
            if not whole:
                await answer.finished
                if self._chunked and not transport.is_closing():
                    transport.write(_LAST_CHUNK)
            if self._draining is not None:
                await self._draining
        finally:
            if self._draining is not None:
                self._draining.cancel()
            # The answer knows this relay: a ring, with all of the request in it, that only the garbage
            # collector would open.
            self._answer = None
        if transport.is_closing():
            raise ClientGone
        return response

    def framed(self, chunks: bytes) -> None:
        """Forward whole chunks of the engine as they are."""
        if self._chunked:
            self._send(chunks)
        else:
            self._send(unframed(chunks))

    def part(self, data: bytes) -> None:
        """Forward bytes of the body."""
        if self._chunked:
            self._send(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            self._send(data)

    def _send(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None
        if self._pending is not None:
            self._pending.append(data)
        elif transport.is_closing():
            return  # The client left in this moment: its request is about to be cancelled.
        else:
            transport.write(data)
        # Forwarded first, stamped after.
        self.exchange.arrived(time.monotonic_ns(), len(data))
        _, older, old = self._tail
        self._tail = (older, old, data)
        assert self._patience is not None
        self._patience.progress()
        if transport.get_write_buffer_size():
            self._slow_down()

    def _slow_down(self) -> None:
        """Read no more of the engine while more lies here than the client's socket takes."""
        protocol = self._request.protocol
        if protocol is None or not protocol.writing_paused or self._draining is not None or not self._answer:
            return
        self._answer.pause()
        self._draining = asyncio.get_running_loop().create_task(self._drain(self._answer))

    async def _drain(self, answer: Answer) -> None:
        try:
            await self._request.writer.drain()
        except ConnectionError:
            return  # The client is gone; its request is cancelled by the server.
        self._draining = None
        if self._patience is not None:
            self._patience.progress()
        answer.resume()

    async def break_off(self, why: Refused) -> web.StreamResponse:
        """End a begun answer that cannot be completed, so that the client cannot take it for whole.

        A stream of events gets the error as its last event. Anything else has no place for an error: its
        connection is cut without a clean end.
        """
        response = self._response
        if response is None:
            raise RuntimeError("the answer has not begun")
        transport = self._request.transport
        if self.exchange.streamed and transport is not None and not transport.is_closing():
            farewell = self._gap() + why.event()
            if self._chunked:
                farewell = b"%x\r\n%b\r\n%b" % (len(farewell), farewell, _LAST_CHUNK)
            transport.write(farewell)
            try:
                async with asyncio.timeout(self._limits.farewell_s):
                    await self._request.writer.drain()
                return response
            except (ConnectionError, TimeoutError):
                pass  # It is cut below, which is all that is left to do.
        # aiohttp finds the connection closed and adds no end of its own.
        if transport is not None:
            transport.abort()
        return response

    def tail(self) -> bytes:
        """The last bytes of the body, framing included: where an engine says what it used."""
        return b"".join(self._tail)[-TAIL_BYTES:]

    def client_stalled(self) -> bool:
        """Whether bytes lie here that the client does not take."""
        transport = self._request.transport
        return transport is not None and transport.get_write_buffer_size() > 0

    def _gap(self) -> bytes:
        """A blank line, if the stream broke inside an event, so that the torn event can be discarded."""
        body = b"".join(unframed(data) if self._chunked else data for data in self._tail)
        return b"" if not body or body.endswith(_EVENT_ENDS) else b"\n\n"
