import pytest

from loadgen.stats.plan import RunPlan
from loadgen.stats.window import rates, start_ns, window_s


def open_plan(**other):
    return RunPlan(**{"arrival": "constant", "intended": 4, "rate_per_s": 2.0, "duration_s": 2.0} | other)


def test_the_window_runs_from_the_first_intended_request_to_the_last_end(record):
    records = [record(600, sent=505, intended=500), record(900, sent=700, intended=700, end=2500)]

    assert window_s(records, open_plan()) == pytest.approx(2.0)


def test_a_closed_loop_begins_with_its_first_sent_request(record):
    assert start_ns(
        [record(600, sent=505), record(600, sent=510)], RunPlan(arrival="closed", intended=None)
    ) == (505_000_000)


def test_a_planned_start_is_kept_even_when_nothing_was_sent_then(record):
    assert window_s([record(900, sent=700, intended=700)], open_plan(start_ns=400_000_000)) == pytest.approx(
        0.5
    )


def test_without_records_there_is_no_window_and_no_rate():
    assert window_s([], open_plan()) is None
    assert rates([], open_plan()).achieved_per_s is None


def test_a_window_without_length_gives_no_rates(record):
    assert window_s([record(sent=100, intended=100)], open_plan()) is None


def test_rates_of_a_kept_timetable_agree(record):
    sent_on_time = [record(at + 50, sent=at, intended=at) for at in (0, 500, 1000, 1500)]

    found = rates(sent_on_time, open_plan())

    assert (found.requested_per_s, found.scheduled_per_s, found.achieved_per_s) == (2.0, 2.0, 2.0)


def test_sending_that_drags_on_beyond_the_timetable_lowers_the_achieved_rate(record):
    # 4 requests, the last sent 4 s after the start instead of 1.5 s: 1/s, and not 4 / 2 s.
    dragging = [record(at + 50, sent=at, intended=i * 500) for i, at in enumerate((0, 1000, 2000, 4000))]

    assert rates(dragging, open_plan()).achieved_per_s == pytest.approx(1.0)


def test_without_a_duration_rates_come_from_the_spacing(record):
    # 3 gaps in 1.5 s.
    records = [record(at + 50, sent=at, intended=at) for at in (0, 500, 1000, 1500)]

    found = rates(records, open_plan(duration_s=None))

    assert found.scheduled_per_s == pytest.approx(2.0)
    assert found.achieved_per_s == pytest.approx(2.0)


def test_one_request_has_no_spacing(record):
    assert rates([record(50, intended=0)], open_plan(duration_s=None)).achieved_per_s is None


def test_a_closed_loop_has_no_requested_and_no_scheduled_rate(record):
    plan = RunPlan(arrival="closed", intended=None, duration_s=2.0, concurrency=1)

    found = rates([record(at + 900, sent=at) for at in (0, 1000)], plan)

    assert (found.requested_per_s, found.scheduled_per_s, found.achieved_per_s) == (None, None, 1.0)
