"""A server side of HTTP/1.1 as bare as can be, so that every byte and moment is the script's.

Owns: reading requests off a connection, writing raw bytes to it, cutting it, and noticing that the peer
left. Knows nothing about what is asked or answered.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

SPIN_S = 0.0002
"""The end of a wait that is spun, other streams getting their turn, since the loop's timer is this late."""


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    t_received_ns: int


Handler = Callable[[Request, "Connection"], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One connection: requests are handled one after the other; a peer that leaves cancels its handler."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport
        self.gone_ns: int | None = None
        """When the peer was seen to leave."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def eof_received(self) -> bool:
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def write(self, data: bytes) -> None:
        """Hand bytes to the kernel now (the transport sends at once as long as nothing is queued)."""
        self._transport.write(data)

    def finish(self) -> None:
        """Close after what was written (FIN)."""
        self._transport.close()

    def reset(self) -> None:
        """Drop the connection (RST)."""
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()

    def _leave(self) -> None:
        if self.gone_ns is None:
            self.gone_ns = time.perf_counter_ns()
        if self._task is not None:
            self._task.cancel()

    def _next(self) -> None:
        if self._task is None and not self._transport.is_closing():
            request = _take_request(self._buffer)
            if request is not None:
                self._task = asyncio.get_running_loop().create_task(self._run(request))

    async def _run(self, request: Request) -> None:
        try:
            await self._handle(request, self)
        except asyncio.CancelledError:
            return
        except Exception:  # noqa: BLE001 - the engine's border: a broken script must show, and end the stream
            traceback.print_exc()
            self.reset()
            return
        finally:
            self._task = None
        if request.headers.get("connection", "").lower() == "close":
            self.finish()
        self._next()


async def until(t_ns: int) -> None:
    """Return at `t_ns` of perf_counter, a few microseconds late at most while the machine has a core."""
    left_s = (t_ns - time.perf_counter_ns()) / 1e9
    if left_s > SPIN_S:
        await asyncio.sleep(left_s - SPIN_S)
    while time.perf_counter_ns() < t_ns:  # noqa: ASYNC110 - what is waited for is time itself
        await asyncio.sleep(0)


def _take_request(buffer: bytearray) -> Request | None:
    head_end = buffer.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    first, *lines = buffer[:head_end].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body_start = head_end + 4
    if headers.get("transfer-encoding", "").lower() == "chunked":
        taken = _take_chunks(buffer, body_start)
        if taken is None:
            return None
        body, end = taken
    else:
        end = body_start + int(headers.get("content-length", 0))
        if len(buffer) < end:
            return None
        body = bytes(buffer[body_start:end])
    del buffer[:end]
    method, path, _ = first.split(" ", 2)
    return Request(method, path, headers, body, time.perf_counter_ns())


def _take_chunks(buffer: bytearray, position: int) -> tuple[bytes, int] | None:
    body = b""
    while (line_end := buffer.find(b"\r\n", position)) >= 0:
        size = int(buffer[position:line_end].split(b";")[0], 16)
        start, end = line_end + 2, line_end + 2 + size
        if len(buffer) < end + 2:
            return None
        body += buffer[start:end]
        position = end + 2
        if size == 0:
            return body, position
    return None
