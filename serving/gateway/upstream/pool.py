"""Connections to engines, kept for the next request.

Owns: opening and reusing connections by address. Knows nothing about which engine is chosen or why.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from serving.gateway.upstream.answer import Answer, Broke, CannotConnect
from serving.gateway.upstream.connection import UpstreamConnection
from serving.gateway.upstream.framing import Head, request_head


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a server listens, and the path below which its API lies (usually none)."""

    host: str
    port: int
    secure: bool
    header: str
    """What the Host header says."""
    base: str


def origin(url: str) -> Origin:
    """Take an address apart. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8000")
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    return Origin(parts.hostname, port, secure, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"))


@dataclass(slots=True)
class Sent:
    """A request on its way, and the connection it went by."""

    answer: Answer
    head: Head
    reused: bool


class Pool:
    """Sends requests over connections that are free, or new ones. Made inside a running event loop.

    `trust`: by address, whose certificates count where it is not the system's list.
    """

    def __init__(
        self, *, connect_s: float, idle_s: float, trust: Mapping[str, ssl.SSLContext] | None = None
    ) -> None:
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()
        self._origins: dict[str, Origin] = {}
        self._free: dict[str, list[UpstreamConnection]] = {}
        self._all: set[UpstreamConnection] = set()
        self._trust = dict(trust or {})
        self._tls: ssl.SSLContext | None = None

    async def ask(
        self, url: str, method: str, target: str, headers: Mapping[str, str], body: bytes | None,
        opened: Callable[[Answer], None],
    ) -> Sent:  # fmt: skip
        """Send a request and wait for the head of its answer; `opened` gets the answer before that.

        A kept connection that the engine closed meanwhile is replaced by a new one. Raises: UpstreamFailed.
        """
        place = self._origins.get(url) or self._origins.setdefault(url, origin(url))
        head = request_head(method, place.base + target, place.header, headers, body)
        while True:
            connection = self._take(url)
            reused = connection is not None
            if connection is None:
                connection = await self._connect(url, place)
            answer = connection.send(head, body, no_body=method == "HEAD", loop=self._loop)
            opened(answer)
            try:
                return Sent(answer, await answer.headed, reused)
            except Broke:
                if not reused or connection.heard:
                    raise
            finally:
                if not answer.headed.done() or answer.headed.cancelled():
                    answer.close()

    async def close(self) -> None:
        """Cut all connections."""
        for connection in list(self._all):
            connection.abort()
        self._free.clear()
        await asyncio.sleep(0)  # Lets the transports tell their connections.

    def _take(self, url: str) -> UpstreamConnection | None:
        free = self._free.get(url)
        now = self._loop.time()
        while free:
            connection = free.pop()
            if connection.usable and now - connection.idle_since_s <= self._idle_s:
                return connection
            connection.abort()
        return None

    async def _connect(self, url: str, place: Origin) -> UpstreamConnection:
        def released(connection: UpstreamConnection) -> None:
            if connection.usable:
                connection.idle_since_s = self._loop.time()
                self._free.setdefault(url, []).append(connection)
            else:
                self._all.discard(connection)
                if connection in (free := self._free.get(url, [])):
                    free.remove(connection)

        tls = None
        if place.secure:
            tls = self._trust.get(url)
            if tls is None:
                tls = self._tls = self._tls or ssl.create_default_context()
        try:
            async with asyncio.timeout(self._connect_s):
                _, connection = await self._loop.create_connection(
                    lambda: UpstreamConnection(released), place.host, place.port, ssl=tls
                )
        except TimeoutError as error:
            raise CannotConnect(f"not accepted within {self._connect_s:g} s", timed_out=True) from error
        except OSError as error:
            raise CannotConnect(str(error)) from error
        self._all.add(connection)
        return connection
