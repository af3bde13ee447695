"""Both ends of HTTP as raw bytes, in the test's own event loop: an engine and a client.

Owns: sending and receiving exactly the bytes a test says, when it says, and seeing the other side leave.
Knows nothing about the code under test. For an engine that behaves like vLLM see `scripted_engine`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

PATIENCE_S = 10.0
"""How long a test waits for what must come. Nothing depends on its value, unless it is too short."""


@dataclass(slots=True)
class Call:
    """One request as the engine received it, and the wire to answer on."""

    head: str
    body: bytes
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    sent_bytes: int = 0

    @property
    def line(self) -> str:
        """The request line."""
        return self.head.split("\r\n")[0]

    def header(self, name: str) -> str | None:
        """The value of a header, None if it was not sent."""
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting while the peer does not read."""
        self._writer.write(data)
        await self._writer.drain()
        self.sent_bytes += len(data)

    async def gone(self) -> None:
        """Return when the peer closes its side."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while await self._reader.read(65536):
                    pass
        except ConnectionError:
            pass

    def reset(self) -> None:
        """Cut the connection without a goodbye."""
        self._writer.transport.abort()


Answer = Callable[[Call], Awaitable[None]]


class RawEngine:
    """Answers each connection's one request with `answer`, then closes it."""

    def __init__(self) -> None:
        self.answer: Answer = _not_set
        self.calls: list[Call] = []
        self.url = ""

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Self]:
        """Serve for the length of the block, on a free port; with `tls`, https."""
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
            call = Call(head, b"", reader, writer)
            call.body = await reader.readexactly(int(call.header("content-length") or 0))
            self.calls.append(call)
            await self.answer(call)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _not_set(call: Call) -> None:
    raise AssertionError(f"the test gave no answer to {call.line}")


def fixed(answer: bytes) -> Answer:
    """An engine that sends these bytes and closes."""

    async def send(call: Call) -> None:
        await call.send(answer)

    return send


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer as a client saw it: `body` without chunked framing, `whole` if it came to its proper end."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool
    raw: bytes


class RawClient:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._seen = bytearray()

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str) -> AsyncIterator[Self]:
        """Be connected for the length of the block."""
        host, _, port = url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**16)
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()

    async def send(self, data: bytes) -> None:
        """Send bytes. Raises: ConnectionError where the other side is gone, also if that was seen before."""
        if self._writer.is_closing():
            raise ConnectionResetError("the connection is closed")  # uvloop raises RuntimeError for it
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, wanted: bytes) -> bytes:
        """Read until `wanted` is among what came; returns all that came so far."""
        async with asyncio.timeout(PATIENCE_S):
            while wanted not in self._seen:
                more = await self._reader.read(65536)
                if not more:
                    raise AssertionError(f"{wanted!r} did not come before the end of {bytes(self._seen)!r}")
                self._seen += more
        return bytes(self._seen)

    async def answer(self) -> RawAnswer:
        """Read until the connection ends (so ask with `Connection: close`)."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                while more := await self._reader.read(65536):
                    self._seen += more
            except ConnectionError:
                pass
        return parse(bytes(self._seen))

    def leave(self) -> None:
        """Close the connection now."""
        self._writer.transport.abort()


def post(path: str, body: bytes = b"{}", *headers: str) -> bytes:
    """A POST whose connection is closed after the answer."""
    own = [f"POST {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}"]
    return "\r\n".join([*own, *headers, "", ""]).encode("latin-1") + body


def get(path: str, *headers: str, method: str = "GET") -> bytes:
    """A request without a body whose connection is closed after the answer."""
    own = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close"]
    return "\r\n".join([*own, *headers, "", ""]).encode("latin-1")


async def ask(url: str, request: bytes) -> RawAnswer:
    """Send a request on a connection of its own and read the answer."""
    async with RawClient.connect(url) as client:
        await client.send(request)
        return await client.answer()


def parse(raw: bytes) -> RawAnswer:
    """Take an answer apart, by hand and without the parsers of the product."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body, whole = _dechunk(rest)
    else:
        body, whole = rest, len(rest) == int(headers.get("content-length", -1))
    return RawAnswer(int(first.split()[1]), headers, body, whole, raw)


def chunked(*chunks: bytes) -> bytes:
    """Bytes in chunked framing, one chunk each, without the end."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def _dechunk(framed: bytes) -> tuple[bytes, bool]:
    body = b""
    while framed:
        size, separator, framed = framed.partition(b"\r\n")
        length = int(size, 16) if separator else -1
        if length == 0:
            return body, framed == b"\r\n"
        if length < 0 or len(framed) < length + 2:
            return body + framed, False
        body, framed = body + framed[:length], framed[length + 2 :]
    return body, False
