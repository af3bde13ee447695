from __future__ import annotations

import time
from collections.abc import Iterator

import gevent
import pytest

from loadgen.alarm import Alarm

MS = 1_000_000


@pytest.fixture(params=["file", "turns"])
def alarm(request: pytest.FixtureRequest) -> Iterator[Alarm]:
    made = Alarm()
    if request.param == "turns":
        yield made
        return
    with made:
        if made._fileno is None:
            pytest.skip("no timers that are files here")
        yield made


def test_it_never_wakes_before_its_time(alarm: Alarm) -> None:
    for _ in range(20):
        due = time.perf_counter_ns() + 3 * MS
        assert alarm.wait_until(due)
        assert time.perf_counter_ns() >= due


def test_a_time_that_is_past_is_no_wait(alarm: Alarm) -> None:
    assert alarm.wait_until(time.perf_counter_ns() - 1)


def test_others_run_meanwhile(alarm: Alarm) -> None:
    turns: list[int] = []

    def take_turns() -> None:
        for _ in range(5):
            turns.append(1)
            gevent.sleep(0.001)

    other = gevent.spawn(take_turns)
    alarm.wait_until(time.perf_counter_ns() + 100 * MS)
    assert other.dead
    assert len(turns) == 5


def test_it_can_be_woken_early_and_then_never_waits_again(alarm: Alarm) -> None:
    waiting = gevent.spawn(alarm.wait_until, time.perf_counter_ns() + 3_600_000 * MS)
    gevent.sleep(0.01)
    alarm.ring()
    assert waiting.get(timeout=5) is False
    assert alarm.wait_until(time.perf_counter_ns() + 3_600_000 * MS) is False


def test_one_alarm_wakes_many_times_in_a_row(alarm: Alarm) -> None:
    begin = time.perf_counter_ns()
    for number in range(1, 40):
        assert alarm.wait_until(begin + number * MS)
    assert time.perf_counter_ns() >= begin + 39 * MS
