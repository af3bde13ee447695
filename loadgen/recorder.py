"""Turns captures into records while the run goes on, and appends them to the run folder.

Owns: the queue between the hot path and the record, and how long reading may keep stamps waiting.
Knows nothing about sockets or locust: who else hears of a record is a function that comes in.

Reading happens in one greenlet, a slice at a time with a turn of the event loop between slices: the
stamps of running streams wait for one slice at most, however long an ended answer was and however
many ended at once (docs/load.md has the figures).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

import gevent
from gevent.queue import Queue

from loadgen.parse import Capture, record_in_slices
from loadgen.records import Planned, RequestRecord


@dataclass(slots=True)
class Recorder:
    """Takes captures from the dispatcher; `finish` waits until all of them are records on disk."""

    out: TextIO
    origin_ns: int
    heard: Callable[[RequestRecord], None] = lambda _: None
    slice_max_s: float = 0.0
    _queue: Queue = field(default_factory=Queue)
    _worker: gevent.Greenlet | None = None

    def start(self) -> None:
        """Begin to read captures."""
        self._worker = gevent.spawn(self._run)

    def take(self, planned: Planned, capture: Capture, measure_start_ns: int) -> None:
        """Queue a finished capture; costs the hot path nothing."""
        self._queue.put((planned, capture, measure_start_ns))

    def finish(self) -> None:
        """Return when every capture taken so far is on disk."""
        self._queue.put(None)
        if self._worker is not None:
            self._worker.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            made = self._read(*item)
            self.out.write(made.to_json() + "\n")
            self.out.flush()
            self.heard(made)

    def _read(self, planned: Planned, capture: Capture, measure_start_ns: int) -> RequestRecord:
        steps = record_in_slices(
            capture, planned, origin_ns=self.origin_ns, measure_start_ns=measure_start_ns
        )
        while True:
            began = time.perf_counter_ns()
            try:
                next(steps)
            except StopIteration as end:
                made: RequestRecord = end.value
                return made
            finally:
                took_s = (time.perf_counter_ns() - began) / 1e9
                self.slice_max_s = max(self.slice_max_s, took_s)
            gevent.sleep(0)
