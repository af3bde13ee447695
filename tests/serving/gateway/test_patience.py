"""How long requests may wait, and the one timer for all of them: a loop whose clock is set by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from serving.gateway.limits import GatewayLimits
from serving.gateway.patience import Patience, Waits


class Loop:
    """A clock that stands where it is put, and the timers that were set by it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[LoopTimer] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], object]) -> LoopTimer:
        self.timers.append(LoopTimer(self, when, callback))
        return self.timers[-1]

    def due(self) -> list[float]:
        """When which timers fire."""
        return [timer.when for timer in self.timers]

    def go(self, now: float) -> None:
        """Let time pass."""
        self.now = now
        for timer in [timer for timer in self.timers if timer.when <= now]:
            timer.cancel()
            timer.callback()


class LoopTimer:
    """One of its timers."""

    def __init__(self, loop: Loop, when: float, callback: Callable[[], object]) -> None:
        self.loop = loop
        self.when = when
        self.callback = callback

    def cancel(self) -> None:
        self.loop.timers.remove(self)


class Timer:
    """What ends a request's block, and remembers that it has to."""

    def __init__(self) -> None:
        self.ended: list[float | None] = []

    def expired(self) -> bool:
        return bool(self.ended)

    def reschedule(self, when: float | None) -> None:
        self.ended.append(when)


def begun(loop: Loop, timer: Timer | None = None, total_s: float = 1_000.0) -> tuple[Waits, Patience]:
    waits = Waits(GatewayLimits(total_s=total_s), loop)
    return waits, waits.begin(timer or Timer())


def test_a_wait_ends_a_tenth_after_its_limit() -> None:
    loop, timer = Loop(), Timer()
    _, patience = begun(loop, timer)
    patience.expect("next byte", 100)
    loop.go(1109.9)
    assert timer.ended == []
    loop.go(1110.1)
    assert timer.ended == [1110.1]


def test_the_deadline_is_moved_only_when_a_tenth_has_passed() -> None:
    loop = Loop()
    _, patience = begun(loop)
    patience.expect("next byte", 100)
    for _ in range(10):
        loop.now += 1
        patience.progress()
    assert patience.deadline_s == pytest.approx(1110)
    loop.now += 1
    patience.progress()
    assert patience.deadline_s == pytest.approx(1011 + 110)


def test_no_wait_goes_beyond_the_total() -> None:
    loop, timer = Loop(), Timer()
    _, patience = begun(loop, timer, total_s=50)
    patience.expect("first byte", 100)
    assert (patience.wait, patience.limit_s) == ("total", 50)
    loop.go(1050)
    assert timer.ended == [1050]


def test_a_shutdown_ends_every_wait_at_once_and_is_its_reason() -> None:
    loop, timer, other = Loop(), Timer(), Timer()
    waits, patience = begun(loop, timer)
    patience.expect("next byte", 100)
    waits.begin(other)
    loop.go(1005)
    waits.end_all()
    assert (timer.ended, other.ended) == ([1005], [1005])
    assert patience.wait == "shutdown"


def test_one_timer_watches_over_all_requests_and_is_moved_only_to_an_earlier_deadline() -> None:
    loop = Loop()
    waits, first = begun(loop)
    first.expect("next byte", 100)
    for _ in range(3):
        waits.begin(Timer()).expect("next byte", 200)
    assert loop.due() == [pytest.approx(1110)]
    waits.begin(Timer()).expect("next byte", 10)
    assert loop.due() == [pytest.approx(1011)]


def test_who_got_on_meanwhile_waits_on_and_the_others_end() -> None:
    loop, slow, quick = Loop(), Timer(), Timer()
    waits, stuck = begun(loop, slow)
    stuck.expect("next byte", 100)
    going = waits.begin(quick)
    going.expect("next byte", 100)
    loop.go(1050)
    going.progress()
    loop.go(1111)
    assert (slow.ended, quick.ended) == ([1111], [])
    assert loop.due() == [pytest.approx(1050 + 110)]


def test_a_request_that_is_over_leaves_no_timer_behind() -> None:
    loop, timer = Loop(), Timer()
    waits, patience = begun(loop, timer)
    patience.expect("next byte", 100)
    waits.end(patience)
    loop.go(1200)
    assert timer.ended == []
    assert loop.due() == []


def test_what_was_ended_already_is_not_ended_twice() -> None:
    loop, timer = Loop(), Timer()
    waits, patience = begun(loop, timer)
    patience.expect("next byte", 100)
    waits.end_all()
    loop.go(1200)
    assert timer.ended == [1000]
    assert loop.due() == []
