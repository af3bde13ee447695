from fractions import Fraction
from math import comb

import pytest

from loadgen.stats.intervals import SMALLEST_N, percentile_ranks, student_t, wilson


def exact_coverage(n: int, percent: int, lower: int, upper: int) -> Fraction:
    """P(lower <= B < upper) for B ~ Binomial(n, percent/100), in whole numbers: independent of the code."""
    p = Fraction(percent, 100)
    return sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(lower, upper)), Fraction(0))


@pytest.mark.parametrize(("percent", "n"), [(50, 6), (90, 46), (95, 93), (99, 473)])
def test_a_percentile_needs_just_as_many_requests_as_the_facts_say(percent, n):
    assert SMALLEST_N[percent] == n
    assert percentile_ranks(n, percent) is not None
    assert percentile_ranks(n - 1, percent) is None


@pytest.mark.parametrize(("percent", "n"), [(90, 46), (95, 93), (99, 473)])
def test_these_numbers_follow_from_an_upper_end_below_the_maximum(percent, n):
    assert exact_coverage(n, percent, 1, n - 1) >= Fraction(95, 100)
    assert exact_coverage(n - 1, percent, 1, n - 2) < Fraction(95, 100)


def test_the_median_of_five_has_no_interval_and_that_of_six_has():
    assert exact_coverage(5, 50, 1, 5) < Fraction(95, 100)
    assert exact_coverage(6, 50, 1, 6) >= Fraction(95, 100)


@pytest.mark.parametrize(
    ("n", "ranks"),
    # Le Boudec, Performance Evaluation of Computer and Communication Systems, appendix A, median, 95 %.
    [(6, (1, 6)), (7, (1, 7)), (8, (1, 7)), (9, (2, 8)), (10, (2, 9)), (20, (6, 15)), (50, (18, 32))],
)
def test_median_ranks_are_those_of_the_textbook(n, ranks):
    assert percentile_ranks(n, 50) == ranks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "percent"), [(6, 50), (31, 50), (46, 90), (100, 90), (93, 95), (240, 95), (473, 99), (600, 99)]
)
def test_an_interval_covers_95_percent_and_no_narrower_one_does(n, percent):
    found = percentile_ranks(n, percent)
    assert found is not None
    lower, upper = found
    highest = n if percent == 50 else n - 1
    assert exact_coverage(n, percent, lower, upper) >= Fraction(95, 100)
    assert 1 <= lower < upper <= highest

    width = upper - lower - 1
    narrower = (exact_coverage(n, percent, low, low + width) for low in range(1, highest - width + 1))
    assert max(narrower) < Fraction(95, 100)


def test_large_samples_agree_with_the_normal_approximation():
    # n = 100,000: 0.99 n +- 1.96 sqrt(n * 0.99 * 0.01) = 99,000 +- 61.7.
    found = percentile_ranks(100_000, 99)

    assert found is not None
    assert found[0] == pytest.approx(98_938.3, abs=2)
    assert found[1] == pytest.approx(99_061.7, abs=2)


def test_no_interval_comes_from_no_observation():
    assert percentile_ranks(0, 50) is None
    assert percentile_ranks(1, 50) is None


def test_wilson_gives_newcombes_published_intervals():
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_wilson_of_all_mirrors_wilson_of_none():
    assert wilson(20, 20) == pytest.approx((1 - 0.1611, 1.0), abs=5e-5)


def test_wilson_of_no_trials_is_unknown():
    assert wilson(0, 0) is None


@pytest.mark.parametrize(
    ("degrees", "tail", "t"),
    # Abramowitz and Stegun, table 26.10.
    [
        (1, 0.025, 12.706),
        (2, 0.025, 4.303),
        (2, 0.005, 9.925),
        (4, 0.005, 4.604),
        (30, 0.025, 2.042),
        (120, 0.005, 2.617),
    ],
)
def test_students_t_is_that_of_the_tables(degrees, tail, t):
    assert student_t(degrees, tail) == pytest.approx(t, abs=6e-4)


def test_students_t_of_half_degrees_lies_between():
    assert student_t(5, 0.025) < student_t(4.5, 0.025) < student_t(4, 0.025)
