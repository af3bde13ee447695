import random

import pytest

from loadgen.stats.correlation import correlation_time


def autoregressive(rho, n, seed):
    rng, x, series = random.Random(seed), 0.0, []
    for _ in range(n):
        x = rho * x + rng.gauss(0, 1)
        series.append(x)
    return series


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_the_time_of_a_first_order_process_is_one_plus_rho_by_one_minus_rho(rho):
    found = correlation_time(autoregressive(rho, 20_000, seed=1))

    assert found == pytest.approx((1 + rho) / (1 - rho), rel=0.15)


@pytest.mark.parametrize("values", [[], [1.0], [2.0] * 100, [0.0, 5.0] * 7])
def test_a_series_that_tells_nothing_is_taken_as_independent(values):
    assert correlation_time(values) == 1.0


def test_a_series_that_only_grows_has_the_longest_time_that_can_be_told():
    assert correlation_time([float(i) for i in range(80)]) == 10.0
