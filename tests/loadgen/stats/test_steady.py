import pytest

from loadgen.stats.plan import RunPlan
from loadgen.stats.steady import Span, in_flight_mean, output_tokens_within, steady_span

MS = 1_000_000
OPEN = RunPlan(arrival="constant", intended=11)


def closed(users):
    return RunPlan(arrival="closed", intended=None, concurrency=users)


def test_a_closed_loop_is_steady_from_its_last_user_to_its_first_that_has_nothing_left(record):
    # Two users: sends at 0, 30, 100, 140; the last is sent at 140, and the first to end after it at 200.
    records = [
        record(90, sent=0, end=100),
        record(130, sent=30, end=140),
        record(190, sent=100, end=200),
        record(240, sent=140, end=250),
    ]

    assert steady_span(records, closed(2)) == Span(30 * MS, 200 * MS)


def test_a_closed_loop_whose_users_never_were_all_there_has_no_steady_part(record):
    assert steady_span([record(90, sent=0)], closed(2)) is None
    assert steady_span([], closed(1)) is None


def test_an_open_loop_is_steady_from_one_median_answer_after_its_first_request_to_its_last(record):
    records = [record(100 * i + 30, sent=100 * i, intended=100 * i, end=100 * i + 40) for i in range(11)]

    assert steady_span(records, OPEN) == Span(30 * MS, 1000 * MS)


def test_answers_longer_than_the_run_leave_three_quarters_of_it(record):
    records = [record(100 * i + 5000, sent=100 * i, intended=100 * i) for i in range(11)]

    assert steady_span(records, OPEN) == Span(250 * MS, 1000 * MS)


def test_without_an_answer_or_a_second_arrival_there_is_no_steady_part(record):
    assert steady_span([record(30, intended=0)], OPEN) is None
    failed = [record(sent=100 * i, intended=100 * i, outcome="failed") for i in range(5)]
    assert steady_span(failed, OPEN) is None


@pytest.mark.parametrize("arrival", ["stages", "trace"])
def test_a_load_whose_rate_changes_has_no_steady_part(record, arrival):
    records = [record(100 * i + 30, sent=100 * i, intended=100 * i) for i in range(11)]

    assert steady_span(records, RunPlan(arrival=arrival, intended=11)) is None


def test_tokens_count_where_they_came_and_not_where_their_request_ended(record):
    span = Span(100 * MS, 200 * MS)
    across = record(90, 110, 150, 210, sent=50, output_tokens=8, output_tokens_by_event=(1, 2, 3, 2))
    untold = record(90, 110, 150, 210, sent=50, output_tokens=8)

    assert output_tokens_within([across], span) == 5
    assert output_tokens_within([untold], span) == 4.0
    assert output_tokens_within([record(150, outcome="cut", output_tokens=9)], span) == 0


def test_tokens_are_unknown_where_an_answer_is_uncounted(record):
    assert output_tokens_within([record(110, 150)], Span(100 * MS, 200 * MS)) is None


def test_in_flight_is_averaged_over_time(record):
    # Of 100 ms: one request for 50 ms, another for all of it.
    records = [record(sent=150, end=400), record(sent=0, end=900), record(sent=200, end=300)]

    assert in_flight_mean(records, Span(100 * MS, 200 * MS)) == pytest.approx(1.5)
