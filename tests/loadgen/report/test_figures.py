import pytest

from loadgen.report import figures


def test_a_latency_keeps_two_decimals_of_ms_for_7_35_and_7_05_are_not_both_7():
    # locust rounds both to 7.
    assert [figures.latency(value, "ms") for value in (0.00735, 0.00705)] == ["7.35", "7.05"]


def test_seconds_have_ms_behind_the_point():
    assert figures.latency(1.2345, "s") == "1.234"
    assert figures.duration(12.3456) == "12.346 s"
    assert figures.duration(0.0123) == "12.30 ms"


def test_the_unknown_is_a_dash_and_zero_is_zero():
    unknown = [figures.latency(None, "ms"), figures.duration(None), figures.rate(None), figures.share(None)]

    assert unknown == ["-"] * 4
    assert [figures.latency(0.0, "ms"), figures.rate(0.0), figures.share(0.0)] == ["0.00", "0.00", "0 %"]


@pytest.mark.parametrize(("mean", "unit"), [(0.9, "ms"), (1.0, "s"), (None, "ms")])
def test_a_row_is_in_seconds_from_a_mean_of_one_second(mean, unit):
    assert figures.unit_of({"mean": mean}) == unit


@pytest.mark.parametrize(("rate", "text"), [(4.017, "4.02"), (39.66, "39.7"), (1165.4, "1,165")])
def test_rates_have_about_three_digits(rate, text):
    assert figures.rate(rate) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "100 %"), (0.9999, "99.9 %"), (0.912, "91.2 %"), (1e-6, "0.1 %")]
)
def test_only_all_is_100_percent_and_only_none_is_0(ratio, text):
    assert figures.share(ratio) == text


def test_limits_are_written_as_their_author_wrote_them():
    assert [figures.limit(0.5), figures.limit(0.0125), figures.limit(30.0)] == ["500 ms", "12.5 ms", "30 s"]


def test_requests_are_told_without_zeros_that_say_nothing():
    counts = {"intended": 5, "sent": 4, "ok": 3, "failed": 1, "cut": 0, "undefined_tpot": 0, "warmup": 0}

    assert figures.requests_line(counts) == "5 intended, 4 sent, 3 ok, 1 failed, 0 cut"
    assert figures.requests_line(counts | {"undefined_tpot": 2, "warmup": 8}).endswith(
        "0 cut, 2 without a TPOT, 8 warm-up before"
    )
