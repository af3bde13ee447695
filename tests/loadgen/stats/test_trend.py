import random
from itertools import permutations

import pytest

from loadgen.stats.trend import upward


def test_a_series_that_only_goes_up_is_one_of_n_factorial_orders():
    assert upward([1.0, 2.0, 3.0, 4.0]).p == pytest.approx(1 / 24)


def test_a_series_that_only_goes_down_is_certain():
    assert upward([4.0, 3.0, 2.0, 1.0]).p == 1.0


@pytest.mark.parametrize("values", [(2.0, 1.0, 4.0, 3.0, 5.0), (1.0, 3.0, 5.0, 2.0, 4.0)])
def test_p_is_the_share_of_all_orders_that_go_up_as_much(values):
    def ups(order):
        return sum(
            (later > earlier) - (later < earlier)
            for i, earlier in enumerate(order)
            for later in order[i + 1 :]
        )

    orders = list(permutations(values))

    assert upward(values).p == pytest.approx(sum(ups(o) >= ups(values) for o in orders) / len(orders))


@pytest.mark.parametrize(("inversions", "p"), [(11, 0.023), (9, 0.008)])
def test_p_is_that_of_kendalls_table(inversions, p):
    # Hollander and Wolfe, Nonparametric Statistical Methods, n = 10: P(S >= 23) = .023, P(S >= 27) = .008.
    # Moving the last of ten in order forward by k places makes k inversions.
    order = list(range(10))
    order.insert(9 - min(9, inversions), order.pop())
    order.insert(9 - (inversions - min(9, inversions)), order.pop())

    assert upward([float(value) for value in order]).p == pytest.approx(p, abs=5e-4)


def test_growth_is_the_slope_over_the_whole_series_whatever_one_outlier_does():
    assert upward([0.0, 2.0, 4.0, 6.0, 8.0]).growth == pytest.approx(8.0)
    assert upward([0.0, 2.0, 400.0, 6.0, 8.0]).growth == pytest.approx(8.0)


def test_equal_values_are_no_trend():
    assert upward([3.0] * 8).growth == 0.0
    assert upward([3.0] * 8).p > 0.4


def test_without_a_trend_p_is_small_as_seldom_as_it_says():
    rng = random.Random(4)
    small = sum(upward([rng.random() for _ in range(10)]).p <= 0.05 for _ in range(2_000))

    # At most 5 % of 2,000 = 100, and three standard deviations (29) for chance.
    assert small <= 129
