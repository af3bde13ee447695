"""When a run's begin, stages and end are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loadgen.moments import Moments
from loadgen.records import Planned
from loadgen.workload import Workload

Make = Callable[..., Workload]
STAGES = {
    "stages": [{"rate": "4/s", "duration": "30s"}, {"from_rate": "4/s", "to_rate": "8/s", "duration": "1m"}]
}
SUMMARY: dict[str, Any] = {"requests": {"ok": 118, "failed": 2, "cut": 0}, "valid": True}


def planned(*times_ns: int | None, warmups: int = 0) -> list[Planned]:
    slots = [("warmup", None)] * warmups + [("measure", time) for time in times_ns]
    return [Planned(i, phase, time, "random", "/v1/completions", {}) for i, (phase, time) in enumerate(slots)]


def figures(sent: int) -> dict[str, Any]:
    return {"sent": sent}


def test_stages_are_told_by_the_time_from_the_first_measured_request(workload: Make) -> None:
    # Two warm-up requests; the first measured one is meant for 0.5 s after the begin of the measured part.
    moments = Moments.of(workload(arrival=STAGES), "http://h", planned(500_000_000, warmups=2))
    assert list(moments.seen(figures(2), 1000.0)) == []
    (first,) = moments.seen(figures(3), 1010.5)
    assert (first.kind, first.at_s, first.text) == ("stage", 1010.0, "load small: stage 1 of 2, 4/s for 30 s")
    assert list(moments.seen(figures(100), 1039.9)) == []
    (second,) = moments.seen(figures(120), 1040.2)
    assert (second.at_s, second.text) == (1040.0, "load small: stage 2 of 2, 4/s to 8/s for 1 min")
    assert list(moments.seen(figures(500), 2000.0)) == []


def test_a_stage_of_slots_says_how_many(workload: Make) -> None:
    arrival = {"stages": [{"concurrency": 16, "duration": "5s"}]}
    moments = Moments.of(workload(arrival=arrival), "http://h", planned(None, None))
    (only,) = moments.seen(figures(1), 7.0)
    assert (only.at_s, only.text) == (7.0, "load small: stage 1 of 1, 16 at once for 5 s")


def test_a_run_without_stages_has_begin_and_end_alone(workload: Make) -> None:
    moments = Moments.of(workload(), "http://h", planned(0, 1))
    begin = moments.begin(10.0)
    assert (begin.kind, begin.text, begin.at_s) == ("begin", "load small begins: http://h", 10.0)
    assert list(moments.seen(figures(2), 11.0)) == []
    moments.sent(12.0)
    end = moments.ended(SUMMARY, 15.0)
    assert (end.kind, end.at_s, end.until_s) == ("end", 10.0, 12.0)
    assert end.text == "load small ended: 118 ok, 2 failed"


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (None, "load small ended without a summary"),
        ({**SUMMARY, "valid": False}, "load small ended: 118 ok, 2 failed (not valid)"),
        (
            {"requests": {"ok": 0, "failed": 0, "cut": 0}, "valid": False},
            "load small ended: nothing was sent (not valid)",
        ),
    ],
)
def test_the_end_says_what_came_of_it(workload: Make, summary: dict[str, Any] | None, text: str) -> None:
    moments = Moments.of(workload(), "http://h", planned(0))
    moments.begin(10.0)
    assert moments.ended(summary, 11.0).text == text
