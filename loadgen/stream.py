"""The hot path: send prepared bytes, read the answer, keep connections alive.

Owns: sockets, and which way an answer is read: by the event loop's watcher (`loadgen.reader`), or by a
greenlet where TLS stands between socket and bytes. Knows nothing about what the bytes mean: they are
parsed after the stream has ended (`loadgen.parse`). Needs gevent; one greenlet runs one exchange.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gevent
from gevent import select, socket, ssl

from loadgen.parse import Capture
from loadgen.reader import READ_BYTES, Reader
from loadgen.target import Target
from serving.errors import Failed
from serving.wire.http1 import BrokenMessage, ResponseFraming


class Cut(gevent.GreenletExit):  # type: ignore[misc]  # gevent ships no types for it
    """Thrown into an exchange when the run ends before the answer does."""


class TooSlow(gevent.GreenletExit):  # type: ignore[misc]  # gevent ships no types for it
    """Thrown into an exchange by the watchdog; its text becomes the record's error."""


@dataclass(slots=True)
class Connections:
    """Idle connections to one target, newest first. There is no limit on how many are open at once:
    a limit would make requests wait inside the client, which is the first of the wrong numbers."""

    target: Target
    addresses: Sequence[tuple[Any, ...]]
    context: ssl.SSLContext | None
    connect_timeout_s: float
    _idle: list[Any]

    @classmethod
    def to(cls, target: Target, *, connect_timeout_s: float) -> Connections:
        """Resolve the target once, so that no request pays for a name. Raises: Failed."""
        try:
            addresses = socket.getaddrinfo(target.host, target.port, 0, socket.SOCK_STREAM)
        except OSError as error:
            raise Failed(
                f"the name '{target.host}' cannot be resolved: {error}",
                where=target.url,
                fix="check the address of --target",
            ) from error
        context = ssl.create_default_context() if target.tls else None
        return cls(target, addresses, context, connect_timeout_s, [])

    def take(self) -> Any:
        """An idle connection that is still open, else a new one. Raises: OSError."""
        while self._idle:
            connection = self._idle.pop()
            # A sleeping connection has nothing to read; if it has, it is the peer's goodbye.
            if not _readable(connection):
                return connection
            connection.close()
        return self._connect()

    def give_back(self, connection: Any) -> None:
        """Keep a connection whose last answer was read to its end."""
        self._idle.append(connection)

    def answers(self) -> bool:
        """Whether a connection can still be made."""
        try:
            self._connect().close()
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> Any:
        failure: OSError | None = None
        for family, kind, protocol, _, address in self.addresses:
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(self.connect_timeout_s)
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.context is not None:
                    connection = self.context.wrap_socket(connection, server_hostname=self.target.host)
                # Silence is the watchdog's to judge: a timer for every read costs more than the read.
                connection.settimeout(None)
                return connection
            except OSError as error:
                connection.close()
                failure = error
            except BaseException:
                connection.close()
                raise
        raise failure or OSError(f"no address for {self.target.host}")


def _readable(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def exchange(connections: Connections, request: bytes, capture: Capture) -> None:
    """Send one request and fill `capture` with its answer, whatever becomes of it; never raises.

    `capture` comes in, so that a watchdog can see how far the exchange is. Its `t_sent_ns` is taken
    here, before the connection is made: connecting is part of what a user waits for.
    """
    now = time.perf_counter_ns
    capture.t_sent_ns = now()
    connection = None
    again = False
    try:
        connection = connections.take()
        connection.sendall(request)
        again = _receive(connection, capture)
    except Cut:
        capture.cut = True
    except BrokenMessage as broken:
        capture.error = f"not an HTTP answer: {broken}"
    except (OSError, TooSlow) as error:
        capture.error = str(error) or type(error).__name__
    finally:
        # The last byte's stamp, not the time at which this line was reached.
        done = capture.stamps and capture.error is None and not capture.cut
        capture.t_end_ns = capture.stamps[-1] if done else now()
        if connection is not None:
            if again and not capture.closed:
                connections.give_back(connection)
            else:
                connection.close()


def _receive(connection: Any, capture: Capture) -> bool:
    """Read until the answer is whole or the peer closes; whether the connection may be used again."""
    if isinstance(connection, ssl.SSLSocket):
        return _receive_decrypted(connection, capture)
    reader = Reader(connection.fileno(), capture)
    whole = reader.read()
    _note_the_end(capture, whole=whole)
    return whole and reader.keeps_alive


def _receive_decrypted(connection: Any, capture: Capture) -> bool:
    """The same with a greenlet that waits for every read: what the socket has is not yet the answer."""
    framing, now = ResponseFraming(), time.perf_counter_ns
    while data := connection.recv(READ_BYTES):
        capture.stamps.append(now())
        capture.parts.append(data)
        if framing.feed(data):
            return "close" not in (framing.header("connection") or "").lower()
    capture.closed = True
    _note_the_end(capture, whole=framing.close())
    return False


def _note_the_end(capture: Capture, *, whole: bool) -> None:
    if capture.closed and capture.parts and not whole:
        capture.error = "the connection was closed in mid-answer"
