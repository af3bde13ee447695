"""Tests and intervals, against exact sums, SciPy (numbers copied from it) and published examples."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import pytest

from deploy.rollout.statistics import (
    FALSE_ALARM,
    FALSE_PASS,
    Moments,
    between_parts,
    beyond_p,
    distance,
    distance_by_chance,
    excess_p,
    look,
    most_difference,
    most_share,
    normal_point,
    ratio_of_limits,
    ratio_of_means,
)


def dealt(hits: int, n: int, base_hits: int, base_n: int) -> float:
    """The hypergeometric tail as exact fractions."""
    total = hits + base_hits
    ways = sum(comb(n, k) * comb(base_n, total - k) for k in range(hits, min(n, total) + 1))
    return float(Fraction(ways, comb(n + base_n, total)))


@pytest.mark.parametrize(
    "counts", [(3, 10, 1, 20), (5, 5, 0, 500), (12, 600, 6, 6000), (40, 400, 200, 3600), (10, 10, 3, 4)]
)
def test_the_chance_of_an_excess_is_the_sum_of_all_deals_that_are_as_bad(
    counts: tuple[int, int, int, int],
) -> None:
    assert excess_p(*counts) == pytest.approx(dealt(*counts), rel=1e-9)


def test_the_chance_of_an_excess_is_what_scipy_says_of_fishers_test() -> None:
    assert excess_p(3, 10, 1, 20) == pytest.approx(0.0952380952)


@pytest.mark.parametrize(
    "counts", [(0, 10, 0, 10), (1, 10, 2, 20), (0, 0, 3, 10), (3, 10, 0, 0), (1, 100, 5, 100)]
)
def test_what_is_no_excess_has_a_chance_of_one(counts: tuple[int, int, int, int]) -> None:
    assert excess_p(*counts) == 1.0


def test_one_failure_of_three_says_little_and_five_of_five_say_all() -> None:
    assert excess_p(1, 3, 0, 300) > 0.009
    assert excess_p(5, 5, 0, 500) < 1e-11


def test_an_excess_of_many_thousand_requests_is_counted_in_no_time_and_without_overflow() -> None:
    assert 0 < excess_p(2_600, 100_000, 100_000, 4_900_000) < 1e-10


@pytest.mark.parametrize(
    ("hits", "n", "share", "p"), [(5, 20, 0.1, 0.0431744953), (30, 1000, 0.01, 2.0599888e-7)]
)
def test_the_tail_beyond_a_share_is_the_binomial_one(hits: int, n: int, share: float, p: float) -> None:
    assert beyond_p(hits, n, share) == pytest.approx(p, rel=1e-6)


def test_what_is_not_beyond_a_share_has_a_chance_of_one() -> None:
    assert beyond_p(1, 100, 0.01) == 1.0
    assert beyond_p(0, 0, 0.01) == 1.0


@pytest.mark.parametrize(
    ("hits", "n", "tail", "most"), [(3, 20, 0.025, 0.3789268265), (2, 600, 0.005, 0.0153629387)]
)
def test_few_hits_have_the_upper_limit_of_clopper_and_pearson(
    hits: int, n: int, tail: float, most: float
) -> None:
    assert most_share(hits, n, tail) == pytest.approx(most, abs=2e-6)


def test_no_hit_at_all_has_the_limit_that_can_be_written_down() -> None:
    assert most_share(0, 600, 0.005) == pytest.approx(1 - 0.005 ** (1 / 600))


def test_all_hits_and_no_trials_exclude_nothing() -> None:
    assert most_share(5, 5, 0.01) == 1.0
    assert most_share(0, 0, 0.01) == 1.0
    assert most_difference(0, 0, 1, 10, 0.01) == 1.0
    assert most_difference(1, 10, 0, 0, 0.01) == 1.0


def test_the_difference_of_many_hits_is_newcombes_own_example() -> None:
    """56/70 against 48/80: 0.0524 to 0.3339 (Statistics in Medicine 17 (1998) 873, table II, method 10)."""
    assert most_difference(56, 70, 48, 80, 0.025) == pytest.approx(0.3339, abs=6e-5)


def test_a_ratio_of_means_has_the_interval_of_its_logarithm() -> None:
    low, high = ratio_of_means(Moments(400, 1.3, 0.65), Moments(400, 1.0, 0.5), 0.001) or (0, 0)
    half = 3.0902323 * math.sqrt(0.25 / 400 + 0.25 / 400)
    assert (low, high) == pytest.approx((1.3 * math.exp(-half), 1.3 * math.exp(half)), rel=1e-6)


@pytest.mark.parametrize("side", [Moments(1, 1.0, 0.1), Moments(0, 0.0, 0.0), Moments(50, 0.0, 0.0)])
def test_too_few_numbers_or_a_mean_of_zero_have_no_ratio(side: Moments) -> None:
    assert ratio_of_means(side, Moments(400, 1.0, 0.5), 0.01) is None
    assert ratio_of_means(Moments(400, 1.0, 0.5), side, 0.01) is None


def test_a_ratio_between_limits_is_as_wide_as_both_together() -> None:
    """By hand on logarithms: each side is a factor of 1.2 wide, so the ratio is 1.2 ** sqrt(2)."""
    low, middle, high = ratio_of_limits((2.5, 3.0, 3.6), (1.0, 1.2, 1.44))
    assert middle == pytest.approx(2.5)
    assert (middle / low, high / middle) == pytest.approx((1.2 ** math.sqrt(2),) * 2)


def test_parts_of_which_a_mean_is_taken_have_students_interval() -> None:
    """SciPy: t.interval(0.95, 4) of 2, 4, 4, 5, 7."""
    found = between_parts([2.0, 4.0, 4.0, 5.0, 7.0], lambda parts: sum(parts) / len(parts), 0.025)
    assert found == pytest.approx((2.1444053, 6.6555947), abs=1e-5)


def test_parts_that_tell_nothing_without_one_of_them_have_no_interval() -> None:
    def one(parts: object) -> float | None:
        return 1.0 if len(parts) > 2 else None  # type: ignore[arg-type]  # any sequence

    assert between_parts([1, 2, 3], one, 0.01) is None
    assert between_parts([1], lambda _: 1.0, 0.01) is None
    assert between_parts([], lambda _: None, 0.01) is None


def test_the_distance_is_the_largest_gap_between_two_cumulative_shares() -> None:
    assert distance([1, 1, 2], [2, 1, 1]) == pytest.approx(0.25)
    assert distance([5, 0, 5], [0, 10, 0]) == pytest.approx(0.5)
    assert distance([0, 0], [1, 2]) == 0.0


def test_the_distance_by_chance_is_the_known_critical_value_of_equal_samples() -> None:
    """1.628 sqrt(2/n) at 1 % (Smirnov's table for large n)."""
    assert distance_by_chance(200, 200, 0.01) == pytest.approx(1.628 * math.sqrt(2 / 200), rel=1e-3)


def test_all_looks_together_spend_no_more_than_they_may() -> None:
    """Bonferroni for failing, and a half, a quarter, ... for passing."""
    tests, looks = 80 * 21, [look(tests=80 * 21, decision=k) for k in range(1, 41)]
    assert tests * looks[0].fail_tail == pytest.approx(FALSE_ALARM)
    assert sum(each.pass_tail or 0 for each in looks) <= FALSE_PASS
    assert looks[0].pass_tail == FALSE_PASS / 2
    assert look(tests=1, decision=None).pass_tail is None


def test_a_normal_point_is_the_tables() -> None:
    assert normal_point(0.025) == pytest.approx(1.959964, abs=1e-6)
    assert normal_point(0.001) == pytest.approx(3.090232, abs=1e-6)
