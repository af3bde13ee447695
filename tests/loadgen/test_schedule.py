from __future__ import annotations

from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from loadgen.schedule import arrivals, stream
from loadgen.workload_arrivals import Closed, Constant, Poisson


def times(arrival: Constant | Poisson, seed: int = 1) -> list[int]:
    planned = arrivals(arrival, stream(seed, "arrivals"))
    assert all(time is not None for time in planned)
    return [time for time in planned if time is not None]


def gaps(moments: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(moments)]


def poisson(rate: str, **bounds: str | int) -> Poisson:
    return Poisson.model_validate({"process": "poisson", "rate": rate, **bounds})


def constant(rate: str, **bounds: str | int) -> Constant:
    return Constant.model_validate({"process": "constant", "rate": rate, **bounds})


def test_constant_arrivals_start_at_zero_have_equal_gaps_and_end_before_the_duration() -> None:
    assert times(constant("4/s", duration="1s")) == [0, 250_000_000, 500_000_000, 750_000_000]


def test_constant_arrivals_do_not_drift() -> None:
    # 100,000 sums of 1/3 s would be off by microseconds; the last must be exact to a rounding.
    assert times(constant("3/s", requests=300_001))[-1] == 100_000_000_000_000


def test_poisson_arrivals_have_the_rate_asked_for() -> None:
    # 10,000 expected; the standard deviation of a Poisson count is its root, 100: four of them.
    assert len(times(poisson("100/s", duration="100s"))) == pytest.approx(10_000, abs=400)


def test_poisson_gaps_are_exponential() -> None:
    between = gaps(times(poisson("50/s", requests=20_000)))
    # CV 1 within 4 standard errors of an exponential sample's CV, about 1 / sqrt(n).
    assert pstdev(between) / fmean(between) == pytest.approx(1.0, abs=0.03)
    # A share of exp(-1) of exponential gaps is longer than the mean.
    longer = sum(gap > 20_000_000 for gap in between) / len(between)
    assert longer == pytest.approx(0.3679, abs=0.015)


def test_poisson_counts_in_windows_have_an_index_of_dispersion_of_one() -> None:
    moments = times(poisson("20/s", duration="1000s"))
    counts = [0] * 1000
    for moment in moments:
        counts[moment // 1_000_000_000] += 1
    assert pstdev(counts) ** 2 / fmean(counts) == pytest.approx(1.0, abs=0.2)


def test_a_number_of_requests_ends_an_open_loop_before_its_duration() -> None:
    assert len(times(constant("10/s", duration="60s", requests=7))) == 7


def test_the_same_seed_gives_the_same_times_and_another_gives_others() -> None:
    arrival = poisson("10/s", requests=50)
    assert times(arrival, seed=1) == times(arrival, seed=1)
    assert set(times(arrival, seed=1)).isdisjoint(times(arrival, seed=2))


def test_streams_of_one_seed_are_independent_by_name() -> None:
    a, b = stream(1, "arrivals"), stream(1, "prompt/0")
    pairs = [(a.random(), b.random()) for _ in range(5000)]
    mean_a, mean_b = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    covariance = fmean((x - mean_a) * (y - mean_b) for x, y in pairs)
    assert abs(covariance * 12) < 0.06  # correlation: a uniform variate has variance 1/12


def test_a_closed_loop_has_requests_and_no_times() -> None:
    closed = Closed(process="closed", concurrency=2, requests=3)
    assert arrivals(closed, stream(1, "arrivals")) == (None, None, None)
