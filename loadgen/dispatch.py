"""Sends the timetable: greenlets at absolute times, or slots that send one request after the other.

Owns: when requests start, what ends them, and the two phases of a run. Knows nothing about HTTP,
files or locust: how one request is sent and where its capture goes are functions that come in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import gevent
from gevent.event import Event

from loadgen.limits import Limits
from loadgen.parse import Capture
from loadgen.records import Planned
from loadgen.stream import Cut, TooSlow

NS = 1_000_000_000
LEAD_NS = 50_000_000
"""Between the end of the warm-up and the first intended time, so that the first is not late."""
SPIN_NS = 2_000_000
"""The event loop's timers are good to a millisecond or two: the rest is waited out in short turns."""
WATCH_S = 0.5

Ended = Literal["complete", "interrupted", "used_up"]
"""used_up: a closed loop sent all its prepared requests before its duration was over."""
Send = Callable[[Planned, Capture], None]
Sink = Callable[[Planned, Capture, int], None]
"""Takes each finished capture with the raw stamp of the measured phase's start."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent. `concurrency` None: an open loop; `duration_s` bounds a closed one."""

    warmup: Sequence[Planned]
    measured: Sequence[Planned]
    concurrency: int | None = None
    duration_s: float | None = None
    warmup_concurrency: int = 4


@dataclass(slots=True)
class Dispatcher:
    """Runs one plan in gevent. `stop` ends the sending; what is in flight is drained up to a limit."""

    plan: Plan
    send: Send
    sink: Sink
    between: Callable[[], None] = lambda: None
    """Called with nothing in flight: before the measured phase, and after it."""
    limits: Limits = field(default_factory=Limits)
    measure_start_ns: int = 0
    """Raw stamp of the measured phase's start; during the warm-up, of the run's."""
    sent: int = 0
    ended: Ended = "complete"
    _stop: Event = field(default_factory=Event)
    _done: Event = field(default_factory=Event)
    _in_flight: dict[gevent.Greenlet, Capture] = field(default_factory=dict)

    def run(self) -> Ended:
        """Send everything, wait for the answers, and say how it ended."""
        watchdog = gevent.spawn(self._watch)
        try:
            self.measure_start_ns = time.perf_counter_ns()
            self._closed_loop(self.plan.warmup, self.plan.warmup_concurrency, end_ns=None)
            self._drain()
            self.between()
            self.measure_start_ns = time.perf_counter_ns() + LEAD_NS
            self._measure()
            self._drain()
            self.between()
        finally:
            self._cut()
            watchdog.kill()
            self._done.set()
        return self.ended

    def stop(self, *, cut: bool = False) -> None:
        """Send nothing more, and wait until what is in flight has ended; with `cut`, end it now."""
        self._stop.set()
        if cut:
            self._cut()
        self._done.wait()

    def _measure(self) -> None:
        if self._stop.is_set():
            self.ended = "interrupted"
            return
        if self.plan.concurrency is None:
            self._open_loop()
            return
        self._wait_until(self.measure_start_ns)
        duration_s = self.plan.duration_s
        end_ns = None if duration_s is None else self.measure_start_ns + round(duration_s * NS)
        used_up = self._closed_loop(self.plan.measured, self.plan.concurrency, end_ns=end_ns)
        if self._stop.is_set():
            self.ended = "interrupted"
        elif used_up and end_ns is not None:
            self.ended = "used_up"

    def _open_loop(self) -> None:
        for planned in self.plan.measured:
            assert planned.t_intended_ns is not None  # the timetable of an open loop
            if not self._wait_until(self.measure_start_ns + planned.t_intended_ns):
                self.ended = "interrupted"
                return
            gevent.spawn(self._one, planned)
            gevent.sleep(0)  # let it start now, even when the next one is already due

    def _closed_loop(self, requests: Sequence[Planned], slots: int, *, end_ns: int | None) -> bool:
        """Let `slots` greenlets take requests in turn; True if all were answered before `end_ns`.

        Returns at the end or when stopped, with the last requests still in flight: draining is bounded.
        """
        rest = iter(requests)
        workers = [gevent.spawn(self._slot, rest, end_ns) for _ in range(min(slots, len(requests)))]
        everyone = gevent.spawn(gevent.joinall, workers)
        left_s = None if end_ns is None else max(0.0, (end_ns - time.perf_counter_ns()) / NS)
        gevent.wait([everyone, self._stop], timeout=left_s, count=1)
        return everyone.ready() and (end_ns is None or time.perf_counter_ns() < end_ns)

    def _slot(self, requests: Iterator[Planned], end_ns: int | None) -> None:
        while not self._stop.is_set() and (end_ns is None or time.perf_counter_ns() < end_ns):
            planned = next(requests, None)
            if planned is None:
                return
            gevent.spawn(self._one, planned).join()

    def _one(self, planned: Planned) -> None:
        capture = Capture(t_sent_ns=time.perf_counter_ns())
        self._in_flight[gevent.getcurrent()] = capture
        self.sent += 1
        start_ns = self.measure_start_ns
        try:
            self.send(planned, capture)
        finally:
            del self._in_flight[gevent.getcurrent()]
            self.sink(planned, capture, start_ns)

    def _wait_until(self, due_ns: int) -> bool:
        """Wait for a raw stamp; False if the run was stopped before."""
        while (left_ns := due_ns - time.perf_counter_ns()) > 0:
            if left_ns > SPIN_NS:
                if self._stop.wait((left_ns - SPIN_NS) / NS):
                    return False
            else:
                gevent.sleep(0)
        return not self._stop.is_set()

    def _drain(self) -> None:
        gevent.joinall(list(self._in_flight), timeout=self.limits.drain_s)
        self._cut()

    def _cut(self) -> None:
        gevent.killall(list(self._in_flight), exception=Cut)

    def _watch(self) -> None:
        """End exchanges that are silent or take too long."""
        while True:
            gevent.sleep(WATCH_S)
            now = time.perf_counter_ns()
            for greenlet, capture in list(self._in_flight.items()):
                last = capture.stamps[-1] if capture.stamps else capture.t_sent_ns
                if now - last > self.limits.idle_s * NS:
                    greenlet.kill(TooSlow(f"nothing came for {self.limits.idle_s:g} s"), block=False)
                elif now - capture.t_sent_ns > self.limits.total_s * NS:
                    greenlet.kill(TooSlow(f"no end after {self.limits.total_s:g} s"), block=False)
