"""Due times are sums of limits that are far apart, so that each can be seen in them."""

from __future__ import annotations

from typing import Any

import pytest

from loadgen.limits import Limits
from loadgen.patience import Patience
from loadgen.records import Planned

LIMITS = Limits(total_s=1000, idle_s=1, connect_s=10, drain_s=100)


def planned(at_s: float | None, think_s: float = 0.0) -> Planned:
    at_ns = None if at_s is None else round(at_s * 1e9)
    return Planned(0, "measure", at_ns, "any", "/", {}, think_s=think_s)


def patience(arrival: dict[str, Any], *timetable: Planned) -> Patience:
    return Patience.of(arrival, timetable, LIMITS, tell_s=1)


def test_until_the_last_send_silence_is_no_sign() -> None:
    slow = patience({"process": "constant"}, planned(0), planned(3600))
    # 5000 is the start; the last send is at 8600, its answer is cut 100 s later.
    assert slow.due_s(5000, started_s=5000) == 8600 + 111
    assert slow.due_s(8650, started_s=5000) == 8650 + 111


@pytest.mark.parametrize(
    ("arrival", "due_s"),
    [
        ({"process": "closed", "concurrency": 2, "duration": 50.0}, 50 + 111),
        (
            {"process": "stages", "stages": [{"concurrency": 2, "duration": 30.0}, {"duration": 9.0}]},
            39 + 111,
        ),
        ({"process": "closed", "concurrency": 2, "duration": None}, 1011),
    ],
    ids=["for a time", "in stages", "until all are sent: one request may take its whole limit"],
)
def test_a_closed_loop_is_over_with_its_time_or_its_requests(arrival: dict[str, Any], due_s: float) -> None:
    assert patience(arrival, planned(None)).due_s(0, started_s=0) == due_s


def test_a_conversation_may_pause_between_two_requests_of_a_closed_loop() -> None:
    counted = patience({"process": "closed", "concurrency": 1}, planned(None), planned(None, think_s=40))
    assert counted.due_s(7, started_s=0) == 7 + 1051


def test_a_warm_up_may_take_one_request_s_limit_without_progress() -> None:
    assert patience({"process": "constant"}, planned(1)).due_before_start_s(20) == 20 + 1011


def test_after_a_stop_there_is_the_drain_and_after_a_second_not_even_that() -> None:
    rule = patience({"process": "constant"}, planned(3600))
    assert rule.due_after_stop_s(3, stopped_s=20) == 20 + 111
    assert rule.due_after_stop_s(60, stopped_s=20) == 60 + 111
    assert rule.due_after_stop_s(3, stopped_s=20, cut=True) == 20 + 11
