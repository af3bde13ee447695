import pytest

from loadgen.stats.plan import RunPlan, ServerView, Stage
from loadgen.stats.validity import invalid_reasons, tolerated_lag
from loadgen.stats.window import Rates, rates

CLOSED = RunPlan(arrival="closed", intended=None)
NO_RATES = Rates(None, None, None)


def reasons_of(records, plan=CLOSED, server=None):
    """All reasons but the size of the sample: most tests here tell a run in one or two records."""
    found = invalid_reasons(records, plan=plan, rates=rates(records, plan), server=server)
    return [reason for reason in found if "too few samples" not in reason]


def constant(n, *, rate=100.0):
    return RunPlan(arrival="constant", intended=n, rate_per_s=rate, duration_s=n / rate)


@pytest.fixture
def on_time(record):
    """n requests, one every 10 ms, with TTFT 400 ms and the given lags in ms from the first on."""

    def make(n, lags=()):
        late = [*lags, *[0.0] * (n - len(lags))]
        return [
            record(
                10 * i + 400, 10 * i + 450, sent=10 * i + late[i], intended=10 * i, index=i, output_tokens=2
            )
            for i in range(n)
        ]

    return make


def test_a_run_that_kept_its_timetable_is_valid(on_time):
    assert reasons_of(on_time(100), constant(100)) == []


def test_a_run_without_a_complete_answer_measured_nothing(record):
    assert reasons_of([record(outcome="failed")]) == [
        "no request was answered completely, so nothing was measured"
    ]
    assert reasons_of([]) != []


def test_failed_requests_alone_do_not_make_a_run_invalid(on_time, record):
    failures = [record(sent=10 * i, intended=10 * i, index=i, outcome="failed") for i in range(50, 100)]

    assert reasons_of(on_time(50) + failures, constant(100)) == []


def test_a_missing_token_count_makes_a_run_invalid(record):
    found = reasons_of([record(10, 20, output_tokens=2), record(10, 20, index=1)])

    assert len(found) == 1
    assert found[0].startswith("1 of 2 answers came without a token count")


def test_a_one_token_answer_is_no_missing_field(record):
    assert reasons_of([record(10, output_tokens=1)]) == []


def test_a_run_without_any_output_event_has_no_ttft(record):
    assert reasons_of([record(output_tokens=1)]) == [
        "no answer held an output event, so TTFT and E2E are unknown"
    ]


def test_a_request_recorded_twice_is_noticed(record):
    once = record(10, 20, output_tokens=2, index=7)

    assert reasons_of([once, once]) == ["1 requests are recorded more than once (first: index 7)"]


def test_lag_over_10_ms_is_the_generators_fault(on_time):
    # 3 of 100: type 7 puts p99 between the 99th and 100th value, both 12 ms.
    found = reasons_of(on_time(100, lags=(12.0,) * 3), constant(100))

    assert found == [
        "schedule lag p99 12.0 ms is over 10 ms: the load generator could not keep its timetable"
    ]


def test_one_late_request_of_several_hundred_is_below_p99(on_time):
    assert reasons_of(on_time(300, lags=(50.0,)), constant(300)) == []


def test_one_late_request_does_not_make_a_small_run_invalid_and_is_noted(on_time):
    records = on_time(60, lags=(50.0,))

    assert reasons_of(records, constant(60)) == []
    assert tolerated_lag(records).startswith("one of 60 requests was sent 50.0 ms late:")


def test_two_late_requests_make_a_small_run_invalid(on_time):
    records = on_time(20, lags=(11.0, 12.0))

    assert reasons_of(records, constant(20)) == [
        "schedule lag of the second latest of 20 requests 11.0 ms is over 10 ms:"
        " the load generator could not keep its timetable"
    ]
    assert tolerated_lag(records) is None


def test_one_request_so_late_that_it_moves_the_mean_makes_a_run_invalid(on_time):
    # 1,300 ms over 60 requests.
    assert reasons_of(on_time(60, lags=(1300.0,)), constant(60))[0] == (
        "schedule lag mean 21.7 ms is over 10 ms: the load generator could not keep its timetable"
    )


def test_where_no_percentile_is_given_the_largest_lag_counts(on_time):
    assert reasons_of(on_time(5, lags=(11.0,)), constant(5)) == [
        "schedule lag maximum 11.0 ms is over 10 ms: the load generator could not keep its timetable"
    ]


def test_nothing_is_noted_of_a_run_on_time_or_a_large_one(on_time, record):
    assert tolerated_lag(on_time(60)) is None
    assert tolerated_lag(on_time(300, lags=(50.0,))) is None
    assert tolerated_lag([record(10, 20)]) is None


@pytest.mark.parametrize("n", [1, 5])
def test_fewer_answers_than_a_median_needs_are_too_few(on_time, n):
    found = invalid_reasons(on_time(n), plan=CLOSED, rates=NO_RATES, server=None)

    assert found == [f"too few samples: {n} complete answers; a median with an interval needs 6"]


def test_six_answers_are_enough(on_time):
    assert invalid_reasons(on_time(6), plan=CLOSED, rates=NO_RATES, server=None) == []


def test_lag_over_5_percent_of_a_short_ttft_is_too_much(record):
    # TTFT 20 ms, so 1 ms is allowed; the lag is 2 ms throughout.
    records = [
        record(i * 100 + 22, i * 100 + 30, sent=i * 100 + 2, intended=i * 100, index=i, output_tokens=2)
        for i in range(10)
    ]

    (reason,) = reasons_of(records, constant(10, rate=10.0))

    late = "schedule lag of the second latest of 10 requests 2.0 ms"
    assert reason.startswith(f"{late} is over 5% of the TTFT p50 of 20.0 ms:")


def test_requests_that_were_never_sent_make_an_open_loop_invalid(on_time):
    assert reasons_of(on_time(97), constant(100)) == [
        "97 of 100 intended requests were sent: off by more than 2%"
    ]
    assert reasons_of(on_time(98), constant(100)) == []


def test_more_requests_than_the_timetable_holds_are_noticed(on_time):
    assert (
        reasons_of(on_time(110), constant(100))[0]
        == "110 of 100 intended requests were sent: off by more than 2%"
    )


def test_a_closed_loop_has_no_rate_to_keep(record):
    assert reasons_of([record(10, 20, output_tokens=2)], RunPlan(arrival="closed", intended=1)) == []


def test_a_rate_below_the_timetables_makes_an_open_loop_invalid(on_time):
    # evalscope #1366.
    found = invalid_reasons(on_time(100), plan=constant(100), rates=Rates(100.0, 100.0, 97.0), server=None)

    assert found == ["97 requests/s were sent where the timetable holds 100: off by more than 2%"]


@pytest.mark.parametrize(
    ("arrival", "scheduled", "valid"),
    [
        ("constant", 102.9, True),  # 2 % and one request of 100 at the edge
        ("constant", 103.1, False),
        ("poisson", 131.0, True),  # 2 % and three standard deviations, 3 / sqrt(100) = 30 %
        ("poisson", 133.0, False),
    ],
)
def test_a_timetable_may_miss_the_asked_rate_by_chance_only(on_time, arrival, scheduled, valid):
    plan = RunPlan(arrival=arrival, intended=100, rate_per_s=100.0, duration_s=1.0)

    found = invalid_reasons(on_time(100), plan=plan, rates=Rates(100.0, scheduled, scheduled), server=None)

    assert (found == []) is valid


def test_an_engine_that_restarted_makes_a_run_invalid(record):
    answers = [record(10, 20, output_tokens=2)]

    assert "restarted" in reasons_of(answers, server=ServerView(restarted=True))[0]
    assert reasons_of(answers, server=ServerView(restarted=None)) == []


def test_later_turns_are_no_arrivals_and_keep_no_timetable(on_time):
    # 100 arrivals, of which 3 were not sent; 50 later turns that no one waits for.
    plan = RunPlan(
        arrival="constant",
        intended=150,
        rate_per_s=100.0,
        duration_s=1.0,
        follow_ups=frozenset(range(100, 150)),
    )

    assert reasons_of(on_time(97), plan) == ["97 of 100 intended requests were sent: off by more than 2%"]
    assert reasons_of(on_time(100), plan) == []


@pytest.mark.parametrize(("scheduled", "valid"), [(161.0, True), (163.0, False)])
def test_a_burst_process_may_miss_its_rate_by_more(on_time, scheduled, valid):
    # CV 2: 2 % and 3 * 2 / sqrt(100) = 60 %.
    plan = RunPlan(arrival="gamma", intended=100, rate_per_s=100.0, duration_s=1.0, gaps_cv=2.0)

    found = invalid_reasons(on_time(100), plan=plan, rates=Rates(100.0, scheduled, scheduled), server=None)

    assert (found == []) is valid


def test_closed_stages_have_no_rate_to_keep(on_time):
    plan = RunPlan(arrival="stages", intended=None, stages=(Stage(duration_s=1.0, concurrency=4),))

    assert reasons_of(on_time(50), plan) == []
