"""The one timer of a request, against a clock set by hand."""

from __future__ import annotations

import pytest

from serving.gateway.limits import GatewayLimits
from serving.gateway.patience import Patience


class Clock:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Timer:
    """Counts how often it is moved, and never fires."""

    def __init__(self) -> None:
        self.deadlines: list[float | None] = []

    def expired(self) -> bool:
        return False

    def reschedule(self, when: float | None) -> None:
        self.deadlines.append(when)


def patience(clock: Clock, timer: Timer, total_s: float = 1_000.0) -> Patience:
    return Patience(timer, GatewayLimits(total_s=total_s), clock)


def test_a_wait_ends_a_tenth_after_its_limit() -> None:
    clock, timer = Clock(), Timer()
    patience(clock, timer).expect("next byte", 100)
    assert timer.deadlines == [pytest.approx(1110)]


def test_the_timer_is_moved_only_when_a_tenth_has_passed() -> None:
    clock, timer = Clock(), Timer()
    watched = patience(clock, timer)
    watched.expect("next byte", 100)
    for _ in range(10):
        clock.now += 1
        watched.progress()
    assert len(timer.deadlines) == 1
    clock.now += 1
    watched.progress()
    assert timer.deadlines[1:] == [pytest.approx(1011 + 110)]


def test_no_wait_goes_beyond_the_total() -> None:
    clock, timer = Clock(), Timer()
    watched = patience(clock, timer, total_s=50)
    watched.expect("first byte", 100)
    assert timer.deadlines == [1050]
    assert (watched.wait, watched.limit_s) == ("total", 50)


def test_a_shutdown_ends_the_wait_at_once_and_is_its_reason() -> None:
    clock, timer = Clock(), Timer()
    watched = patience(clock, timer)
    watched.expect("next byte", 100)
    clock.now += 5
    watched.end_now()
    assert timer.deadlines[-1] == 1005
    assert watched.wait == "shutdown"
