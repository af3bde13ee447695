"""Sends the timetable: greenlets at absolute times, or slots that send one request after the other.

Owns: when requests start, what ends them, and the two phases of a run. Knows nothing about HTTP,
files or locust: how one request is sent and where its capture goes are functions that come in.

What is sent is a chain: one request, or the turns of a conversation, each when the answer before it has
come and its pause is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

import gevent
from gevent.event import Event

from loadgen.alarm import Alarm
from loadgen.limits import Limits
from loadgen.parse import Capture, answer_text
from loadgen.records import Planned
from loadgen.stream import Cut, TooSlow

NS = 1_000_000_000
LEAD_NS = 50_000_000
"""Between the end of the warm-up and the first intended time, so that the first is not late."""
WATCH_S = 0.5

Ended = Literal["complete", "interrupted", "used_up", "target_gone", "worker_lost"]
"""used_up: a closed loop sent all its prepared requests before its duration was over. target_gone: nothing
listens there any more. worker_lost: one of several sending processes did not come to its end."""
Send = Callable[[Planned, Capture, Sequence[str]], None]
"""Takes the answers of the conversation so far, too."""
Sink = Callable[[Planned, Capture, int], None]
"""Takes each finished capture with the raw stamp of the measured phase's start."""
Chain = tuple[Planned, ...]


@dataclass(frozen=True, slots=True)
class Slots:
    """So many requests at a time, for so long; None: until all are sent."""

    number: int
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent. No `slots`: an open loop; several: stages of a closed one, one after the other."""

    warmup: Sequence[Planned]
    measured: Sequence[Planned]
    slots: tuple[Slots, ...] = ()
    warmup_concurrency: int = 4


@dataclass(slots=True)
class Dispatcher:
    """Runs one plan in gevent. `stop` ends the sending; what is in flight is drained up to a limit."""

    plan: Plan
    send: Send
    sink: Sink
    between: Callable[[], None] = lambda: None
    """Called with nothing in flight: before the measured phase, and after it."""
    starts_at_ns: Callable[[], int] = lambda: time.perf_counter_ns() + LEAD_NS
    """Asked after the warm-up for the raw stamp at which the measured phase starts; it may wait."""
    limits: Limits = field(default_factory=Limits)
    measure_start_ns: int = 0
    """Raw stamp of the measured phase's start; during the warm-up, of the run's."""
    sent: int = 0
    ended: Ended = "complete"
    _stop: Event = field(default_factory=Event)
    _done: Event = field(default_factory=Event)
    _running: set[gevent.Greenlet] = field(default_factory=set)
    """Chains under way, also those in a pause between two turns."""
    _in_flight: dict[gevent.Greenlet, Capture] = field(default_factory=dict)
    _last_sent_ns: int = 0
    _alarm: Alarm = field(default_factory=Alarm)
    _allowed: int = 0
    """Slots of the stage that is on."""

    @property
    def in_flight(self) -> int:
        """Requests sent and not yet answered."""
        return len(self._in_flight)

    def run(self) -> Ended:
        """Send everything, wait for the answers, and say how it ended."""
        watchdog = gevent.spawn(self._watch)
        try:
            self.measure_start_ns = time.perf_counter_ns()
            self._closed_loop(chains(self.plan.warmup), (Slots(self.plan.warmup_concurrency),))
            self._drain()
            self.between()
            self.measure_start_ns = self.starts_at_ns()
            with self._alarm:
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
        self._alarm.ring()
        if cut:
            self._cut()
        self._done.wait()

    def _measure(self) -> None:
        if self._stop.is_set():
            self.ended = "interrupted"
            return
        if not self.plan.slots:
            self._open_loop()
            return
        self._alarm.wait_until(self.measure_start_ns)
        used_up = self._closed_loop(chains(self.plan.measured), self.plan.slots)
        if self._stop.is_set():
            self.ended = "interrupted"
        elif used_up and self.plan.slots[-1].duration_s is not None:
            self.ended = "used_up"

    def _open_loop(self) -> None:
        for chain in chains(self.plan.measured):
            assert chain[0].t_intended_ns is not None  # the timetable of an open loop
            if not self._alarm.wait_until(self.measure_start_ns + chain[0].t_intended_ns):
                self.ended = "interrupted"
                return
            self._spawn(chain, None)
            gevent.sleep(0)  # let it start now, even when the next one is already due

    def _closed_loop(self, rest: Iterator[Chain], stages: Sequence[Slots]) -> bool:
        """Let slots take chains in turn; True if all were answered before the end.

        Returns at the end or when stopped, with the last requests still in flight: draining is bounded.
        """
        slots: dict[int, gevent.Greenlet] = {}
        ends = list(accumulate(round((stage.duration_s or 0) * NS) for stage in stages))
        for stage, end_after_ns in zip(stages, ends, strict=True):
            end_ns = None if stage.duration_s is None else self.measure_start_ns + end_after_ns
            last_ns = None if stage.duration_s is None else self.measure_start_ns + ends[-1]
            self._allowed = stage.number
            for number in range(stage.number):
                if number not in slots or slots[number].dead:
                    slots[number] = gevent.spawn(self._slot, number, rest, last_ns)
            everyone = gevent.spawn(gevent.joinall, list(slots.values()))
            left_s = None if end_ns is None else max(0.0, (end_ns - time.perf_counter_ns()) / NS)
            gevent.wait([everyone, self._stop] if stage.number else [self._stop], timeout=left_s, count=1)
            if self._stop.is_set() or (stage.number and everyone.ready()):
                break
        self._allowed = 0
        return everyone.ready() and (last_ns is None or time.perf_counter_ns() < last_ns)

    def _slot(self, number: int, rest: Iterator[Chain], end_ns: int | None) -> None:
        while number < self._allowed and not self._over(end_ns):
            chain = next(rest, None)
            if chain is None:
                return
            self._spawn(chain, end_ns).join()

    def _over(self, end_ns: int | None) -> bool:
        return self._stop.is_set() or (end_ns is not None and time.perf_counter_ns() >= end_ns)

    def _spawn(self, chain: Chain, end_ns: int | None) -> gevent.Greenlet:
        greenlet = gevent.spawn(self._play, chain, end_ns)
        self._running.add(greenlet)
        greenlet.rawlink(self._running.discard)
        return greenlet

    def _play(self, chain: Chain, end_ns: int | None) -> None:
        """Send the turns one after the other, as long as each is answered."""
        answers: list[str] = []
        for turn, planned in enumerate(chain):
            if turn and (self._stop.wait(planned.think_s) or self._over(end_ns)):
                return
            capture = self._one(planned, answers)
            if turn + 1 < len(chain):
                # Read here and now, on the time of the streams: the next turn repeats what came.
                text = answer_text(capture)
                if text is None:
                    return
                answers.append(text)

    def _one(self, planned: Planned, answers: Sequence[str]) -> Capture:
        capture = Capture(t_sent_ns=time.perf_counter_ns())
        self._in_flight[gevent.getcurrent()] = capture
        self.sent += 1
        self._last_sent_ns = capture.t_sent_ns
        start_ns = self.measure_start_ns
        try:
            self.send(planned, capture, answers)
        finally:
            del self._in_flight[gevent.getcurrent()]
            self.sink(planned, capture, start_ns)
        return capture

    def _drain(self) -> None:
        """Wait for the answers, up to the limit after the last request that was sent."""
        self._last_sent_ns = time.perf_counter_ns()
        while self._running:
            left_s = self.limits.drain_s - (time.perf_counter_ns() - self._last_sent_ns) / NS
            if left_s <= 0:
                break
            gevent.joinall(list(self._running), timeout=left_s)
        self._cut()

    def _cut(self) -> None:
        gevent.killall(list(self._running), exception=Cut)

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


def chains(requests: Sequence[Planned]) -> Iterator[Chain]:
    """The requests in order, the turns of a conversation together where its first one stands."""
    turns: dict[int, list[Planned]] = {}
    for planned in requests:
        if planned.conversation is not None:
            turns.setdefault(planned.conversation, []).append(planned)
    for planned in requests:
        if planned.conversation is None:
            yield (planned,)
        elif planned.conversation in turns:
            yield tuple(sorted(turns.pop(planned.conversation), key=lambda each: each.turn))
