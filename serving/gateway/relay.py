"""The client's side of one answer: the engine's bytes out, and an honest end when they break off.

Owns: forwarding bytes unchanged and at once, and how a broken answer ends.
Knows nothing about which engine is behind or how it is reached.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Mapping

from aiohttp import web

from serving.gateway.answers import Refused
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.patience import Patience

_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST_END = 4


class ClientGone(Exception):
    """The client closed its connection, or stopped reading, before its answer was whole."""


class Relay:
    """Forwards one answer. After `begin` the status is on the wire and cannot be taken back."""

    def __init__(self, request: web.BaseRequest, exchange: Exchange, limits: GatewayLimits) -> None:
        self._request = request
        self.exchange = exchange
        self._limits = limits
        self._response: web.StreamResponse | None = None
        self._tail = b""

    @property
    def begun(self) -> bool:
        """Whether the client has received a status."""
        return self._response is not None

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head. Raises: ClientGone."""
        response = web.StreamResponse(status=status, headers=headers)
        try:
            await response.prepare(self._request)
        except ConnectionError as error:
            raise ClientGone from error
        self.exchange.status = status
        self._response = response

    async def forward(self, chunks: AsyncIterable[bytes], patience: Patience) -> web.StreamResponse:
        """Send every chunk as it comes, wait where the client is slow, and end the answer.

        Raises: ClientGone, and whatever `chunks` raises.
        """
        response, exchange = self._begun_response(), self.exchange
        async for chunk in chunks:
            try:
                await response.write(chunk)
            except ConnectionError as error:
                raise ClientGone from error
            # Forwarded first, stamped after.
            exchange.last_byte_ns = time.monotonic_ns()
            if exchange.first_byte_ns is None:
                exchange.first_byte_ns = exchange.last_byte_ns
            exchange.bytes_out += len(chunk)
            size = len(chunk)
            self._tail = chunk[-_LONGEST_END:] if size >= _LONGEST_END else self._tail[-_LONGEST_END:] + chunk
            patience.progress()
        try:
            await response.write_eof()
        except ConnectionError as error:
            raise ClientGone from error
        return response

    async def break_off(self, why: Refused) -> web.StreamResponse:
        """End a begun answer that cannot be completed, so that the client cannot take it for whole.

        A stream of events gets the error as its last event. Anything else has no place for an error: its
        connection is cut without a clean end.
        """
        response = self._begun_response()
        if self.exchange.streamed:
            gap = b"" if not self._tail or self._tail.endswith(_EVENT_ENDS) else b"\n\n"
            try:
                async with asyncio.timeout(self._limits.farewell_s):
                    await response.write(gap + why.event())
                    await response.write_eof()
                return response
            except (ConnectionError, TimeoutError):
                pass  # It is cut below, which is all that is left to do.
        # aiohttp finds the connection closed and adds no end of its own.
        if self._request.transport is not None:
            self._request.transport.abort()
        return response

    def client_stalled(self) -> bool:
        """Whether bytes lie here that the client does not take."""
        transport = self._request.transport
        return transport is not None and transport.get_write_buffer_size() > 0

    def _begun_response(self) -> web.StreamResponse:
        if self._response is None:
            raise RuntimeError("the answer has not begun")
        return self._response
