"""Counters at two moments become what happened between them."""

from __future__ import annotations

import math

import pytest

from deploy.rollout.evidence import PARTS, Broken, Histogram, Reading, parts, side

OK, GONE = "/v1/completions|ok", "/v1/completions|client_gone"


def reading(at_s: float, **counts: dict[str, float]) -> Reading:
    return Reading(at_s, "v2", counts)


def test_what_happened_is_the_end_less_the_beginning() -> None:
    start = reading(0, requests={OK: 10.0}, judged={"ttft|true": 4.0}, failed_tries={"": 1.0})
    end = reading(
        60,
        requests={OK: 25.0, GONE: 2.0},
        judged={"ttft|true": 14.0, "ttft|false": 5.0},
        failed_tries={"": 4.0},
        finished={"stop": 12.0},
    )
    found = side(start, end)
    assert (found.n, found.ended("ok"), found.ended("client_gone", "timeout")) == (17, 15, 2)
    assert (found.missed("ttft"), found.missed("e2e")) == ((5, 15), (0, 0))
    assert (found.failed_tries, found.finished) == (3.0, {"stop": 12.0})


def test_a_histogram_is_told_by_its_buckets_and_its_sum() -> None:
    start = reading(0, tpot_bucket={"0.1": 1.0, "0.5": 2.0, "+Inf": 2.0}, tpot_sum={"": 0.4})
    end = reading(60, tpot_bucket={"+Inf": 9.0, "0.5": 6.0, "0.1": 3.0}, tpot_sum={"": 5.4})
    assert side(start, end).tpot == Histogram((0.1, 0.5, math.inf), (2.0, 2.0, 3.0), 5.0)


def test_each_engine_is_a_side_of_its_own() -> None:
    start = reading(0, engine_requests={f"http://a|{OK}": 1.0, f"http://b|{OK}": 1.0})
    end = reading(
        60,
        engine_requests={
            f"http://a|{OK}": 4.0,
            f"http://b|{OK}": 3.0,
            f"http://b|{GONE}": 5.0,
            f"none|{OK}": 9.0,
        },
        engine_failed_tries={"http://b": 2.0},
        engine_tpot_bucket={"http://a|0.1": 2.0, "http://a|+Inf": 3.0},
        engine_tpot_sum={"http://a": 0.6},
    )
    found = side(start, end).engines
    assert list(found) == ["http://a", "http://b"]
    a, b = found.values()
    assert (a.n, a.failed_tries, a.tpot) == (3, 0.0, Histogram((0.1, math.inf), (2.0, 1.0), 0.6))
    assert (b.n, b.ended("client_gone"), b.failed_tries, b.tpot) == (7, 5, 2.0, None)


def test_what_nobody_told_is_absent_and_not_zero() -> None:
    assert side(reading(0), reading(60)).first_byte is None


def test_gauges_and_failures_are_not_subtracted() -> None:
    end = reading(60, failures={"": 1.0}, ready={"": 2.0}, memory={"e": 5.0}, targets={"ttft": 0.99})
    assert side(reading(0, ready={"": 3.0}, memory={"e": 9.0}), end).n == 0


@pytest.mark.parametrize("end", [{OK: 3.0}, {GONE: 3.0}])
def test_a_counter_that_goes_backwards_or_away_breaks_the_window(end: dict[str, float]) -> None:
    with pytest.raises(Broken, match="requests of v2 went backwards between 0 and 60"):
        side(reading(0, requests={OK: 10.0}), reading(60, requests=end))


def test_a_histograms_mean_is_exact_and_its_deviation_that_of_full_buckets() -> None:
    """Ten values even over (0, 2] and a sum of 11: the deviation is 2 / sqrt(12)."""
    moments = Histogram((2.0, math.inf), (10.0, 0.0), 11.0).moments()
    assert (moments.n, moments.mean) == (10.0, 1.1)
    assert moments.sd == pytest.approx(2 / math.sqrt(12))
    assert Histogram((1.0, math.inf), (0.0, 0.0), 0.0).moments().n == 0.0


def test_values_beyond_the_last_bound_have_a_finite_deviation() -> None:
    assert math.isfinite(Histogram((1.0, math.inf), (1.0, 5.0), 50.0).moments().sd)


def test_shares_above_a_bound_and_quantiles_are_read_off() -> None:
    told = Histogram((1.0, 2.0, 4.0, math.inf), (50.0, 40.0, 10.0, 0.0), 130.0)
    assert told.above(2.0) == 10.0
    assert told.quantile(0.5) == 1.0
    assert told.quantile(0.95) == 3.0
    assert Histogram((1.0, math.inf), (0.0, 4.0), 9.0).quantile(0.5) == 1.0
    assert Histogram((1.0, math.inf), (0.0, 0.0), 0.0).quantile(0.5) is None


def test_a_quantile_lies_between_its_limits_where_there_are_enough_values() -> None:
    """400 even over (0, 1]: the median is 0.5 -+ 1.96 * 0.5 / 20."""
    told = Histogram((1.0, math.inf), (400.0, 0.0), 200.0)
    assert told.around_quantile(0.5, 0.025) == pytest.approx((0.451, 0.5, 0.549), abs=1e-4)
    assert told.around_quantile(0.999, 0.025) is None
    assert Histogram((1.0, math.inf), (0.0, 0.0), 0.0).around_quantile(0.5, 0.025) is None


def pairs(count: int) -> list[tuple[Reading, Reading]]:
    """A request of each side between any two readings."""
    return [
        (
            Reading(float(k), "v2", {"requests": {OK: float(k)}}),
            Reading(float(k), "main", {"requests": {OK: 3.0 * k}}),
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("count", [2, 3, 21, 22, 50, 100])
def test_a_window_falls_into_parts_that_together_are_the_window(count: int) -> None:
    found = parts(pairs(count))
    assert len(found) <= PARTS
    assert sum(canary.n for canary, _ in found) == count - 1
    assert sum(baseline.n for _, baseline in found) == 3 * (count - 1)
    assert {canary.revision for canary, _ in found} == {"v2"}


def test_one_reading_alone_is_no_part() -> None:
    assert parts(pairs(1)) == ()
    assert parts([]) == ()


def test_a_reading_is_told_as_json() -> None:
    assert reading(5, requests={OK: 1.0}).to_json() == {
        "at_s": 5, "revision": "v2", "counts": {"requests": {OK: 1.0}},
    }  # fmt: skip
