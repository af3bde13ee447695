"""Stamps every read of one answer from the event loop's own watcher: no greenlet is switched for it.

Owns: the moment a stamp is taken, and when an answer is whole. Knows nothing about requests or meaning:
bytes are kept as they came. Needs gevent; the greenlet that asks sleeps until the answer has ended.

Of the HTTP framing it looks only at what may be the end: a read that ends with an event's blank line
inside a chunk cannot be it. What looks different (heads, split events, errors) is followed properly.
"""

from __future__ import annotations

import os
import time
from typing import Any

import gevent
from gevent.event import Event

from loadgen.parse import Capture
from serving.wire.http1 import BrokenMessage, ResponseFraming

READ_BYTES = 4096
CHUNK_OF_EVENTS = b"\n\n\r\n"
"""The end of a chunk that ends with an event's blank line."""
END = b"\n\n\r\n0\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
_READABLE = 1


class Reader:
    """Reads one answer from a connected, non-blocking socket into a capture."""

    def __init__(self, fileno: int, capture: Capture) -> None:
        self._fileno, self._capture = fileno, capture
        self._framing = ResponseFraming()
        self._followed = 0
        """How many of the capture's parts the framing has seen."""
        self._ended = Event()
        self._failure: OSError | BrokenMessage | None = None
        self._whole = False
        self._usual: tuple[bytes, ...] = ()
        """How a read ends after which the answer goes on for certain."""

    def read(self) -> bool:
        """Return when the answer is whole (True) or the peer has closed. Raises: OSError, BrokenMessage."""
        watcher = gevent.get_hub().loop.io(self._fileno, _READABLE)
        try:
            watcher.start(self._callback(watcher))
            self._ended.wait()
        finally:
            watcher.stop()
            watcher.close()
        if self._failure is not None:
            raise self._failure
        return self._whole

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow on this connection."""
        return not self._capture.closed and "close" not in (self._framing.header("connection") or "").lower()

    def _callback(self, watcher: Any) -> Any:
        """The function of the hot path; everything it touches is a local name."""
        read, now, fileno = os.read, time.perf_counter_ns, self._fileno
        keep, stamp = self._capture.parts.append, self._capture.stamps.append

        def readable() -> None:
            try:
                data = read(fileno, READ_BYTES)
                stamped = now()
                if data:
                    keep(data)
                    stamp(stamped)
                    if data.endswith(self._usual):
                        return
                if not self._goes_on(data):
                    watcher.stop()
                    self._ended.set()
            except BlockingIOError:
                return
            except (OSError, BrokenMessage) as error:
                self._failure = error
                watcher.stop()
                self._ended.set()

        return readable

    def _goes_on(self, data: bytes) -> bool:
        """Look closely at a read that is not plainly one of many."""
        if not data:
            self._capture.closed = True
            self._follow()
            self._whole = self._framing.close()
            return False
        if self._usual and self._ends_plainly(data):
            self._whole = True
            return False
        if self._usual and not data.endswith(b"\n"):
            return True  # the last byte of a chunked message is that of an empty line
        self._whole = self._follow()
        if not self._usual and "chunked" in (self._framing.header("transfer-encoding") or "").lower():
            self._usual = (CHUNK_OF_EVENTS,)
        return not self._whole

    def _ends_plainly(self, data: bytes) -> bool:
        if data.endswith(END):
            return True
        parts = self._capture.parts
        return data == LAST_CHUNK and len(parts) > 1 and parts[-2].endswith(CHUNK_OF_EVENTS)

    def _follow(self) -> bool:
        parts = self._capture.parts[self._followed :]
        self._followed += len(parts)
        return self._framing.feed(b"".join(parts))
