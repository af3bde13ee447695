"""Hands finished exchanges to the reading process, and hears what they came to.

Owns: the queue between the hot path and the spool, and the reading process. Knows nothing about sockets,
or who else hears: that is a function that comes in. See deploy/decisions/0005.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import gevent
from gevent.queue import Queue
from gevent.subprocess import PIPE, Popen

from loadgen.frames import Frame, pack
from loadgen.parse import Capture
from loadgen.reading import READY, Heard, Order
from loadgen.records import Planned
from loadgen.spool import SpoolWriter
from serving.errors import Failed

ROOT = Path(__file__).parents[1]


@dataclass(slots=True)
class Recorder:
    """Takes captures from the dispatcher; `finish` waits until all of them are records on disk."""

    order: Order
    heard: Callable[[Heard], None] = lambda _: None
    taken: int = 0
    read: int = 0
    reading_s: float = 0.0
    """How long the reading went on after the last exchange had ended."""
    _queue: Queue = field(default_factory=Queue)
    _writer: gevent.Greenlet | None = None
    _listener: gevent.Greenlet | None = None
    _process: Popen | None = None

    def start(self) -> None:
        """Start the reading process and wait until it can read. Raises: Failed."""
        places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = Popen(
            [sys.executable, "-m", "loadgen.reading", self.order.to_json()],
            stdin=PIPE,
            stdout=PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        )
        if self._process.stdout.readline().decode().strip() != READY:
            raise Failed(
                f"the reading process ended with {self._process.wait()} before it began",
                where=str(self.order.records),
                fix="read what it said in the log above",
            )
        self._writer = gevent.spawn(self._write)
        self._listener = gevent.spawn(self._listen)

    def take(self, planned: Planned, capture: Capture, measure_start_ns: int) -> None:
        """Queue a finished capture; costs the hot path nothing."""
        self.taken += 1
        self._queue.put(Frame(planned, capture, measure_start_ns))

    def finish(self) -> None:
        """Return when every capture taken so far is on disk. Raises: Failed if the reading process died."""
        began = time.monotonic()
        self._queue.put(None)
        assert self._process is not None  # start
        gevent.joinall([self._writer])
        self._process.stdin.close()
        gevent.joinall([self._listener])
        code = self._process.wait()
        self.reading_s = time.monotonic() - began
        if code != 0 or self.read != self.taken:
            raise Failed(
                f"the reading process ended with {code} after {self.read} of {self.taken} answers",
                where=str(self.order.spool),
                fix="what it did not read is still there; read what it said in the log above",
            )

    def _write(self) -> None:
        pool = gevent.get_hub().threadpool
        with SpoolWriter(self.order.spool) as spool:
            while (frame := self._queue.get()) is not None:
                # In a thread: a disk that is slow for a moment must not hold up the stamps. Packed here:
                # a thread that runs Python takes turns with the stamping one.
                pool.apply(spool.append, (pack(frame),))

    def _listen(self) -> None:
        assert self._process is not None  # start
        for line in self._process.stdout:
            self.read += 1
            self.heard(Heard.from_json(line))
