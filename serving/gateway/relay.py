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
from serving.gateway.upstream.connection import Answer
from serving.gateway.upstream.framing import unframed

_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class ClientGone(Exception):
    """The client closed its connection, or stopped reading, before its answer was whole."""


class _Response(web.StreamResponse):
    # The head leaves with the first bytes of the body, as one write, if they are here. aiohttp's own
    # web.Response uses this switch in the same way.
    _send_headers_immediately = False


class Relay:
    """Forwards one answer. After `begin` the status is on the wire and cannot be taken back."""

    def __init__(self, request: web.BaseRequest, exchange: Exchange, limits: GatewayLimits) -> None:
        self._request = request
        self.exchange = exchange
        self._limits = limits
        self._response: _Response | None = None
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._patience: Patience | None = None
        self._chunked = False
        self._pending: list[bytes] | None = []
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
        response = _Response(status=status, headers=headers)
        await response.prepare(self._request)
        writer, transport = self._request.writer, self._request.transport
        if transport is None or transport.is_closing():
            raise ClientGone
        self._transport, self._answer, self._patience = transport, answer, patience
        self._chunked = bool(getattr(writer, "chunked", False))
        self.exchange.status = status
        self._response = response
        answer.deliver_to(self)  # What came already is collected in `_pending`.
        pending, self._pending = b"".join(self._pending or ()), None
        try:
            if pending:
                await self._with_head(pending)
            else:
                writer.send_headers()
            await answer.finished
            if self._draining is not None:
                await self._draining
            await response.write_eof()
        except ConnectionError as error:
            raise ClientGone from error
        finally:
            if self._draining is not None:
                self._draining.cancel()
        return response

    async def _with_head(self, body: bytes) -> None:
        """One write for the head and what of the body is already framed for the wire."""
        writer = self._request.writer
        # The body is framed already; without this the writer would frame it again.
        chunked, self._request.writer.chunked = self._chunked, False  # type: ignore[attr-defined]
        try:
            await writer.write(body, drain=False)  # type: ignore[call-arg]
        finally:
            writer.chunked = chunked  # type: ignore[attr-defined]
        self._slow_down()

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
        if self.exchange.streamed:
            try:
                async with asyncio.timeout(self._limits.farewell_s):
                    await response.write(self._gap() + why.event())
                    await response.write_eof()
                return response
            except (ConnectionError, TimeoutError):
                pass  # It is cut below, which is all that is left to do.
        # aiohttp finds the connection closed and adds no end of its own.
        if self._request.transport is not None:
            self._request.transport.abort()
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
