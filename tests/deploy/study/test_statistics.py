"""Intervals against textbook values, and against seeded simulations of what they promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from deploy.study.statistics import Interval, exact, mean, paired, ratio, share
from loadgen.stats.intervals import student_t

SLEEP = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
"""Hours gained by the first drug: W. S. Gosset ("Student"), Biometrika 6 (1908) 1-25."""


@pytest.mark.parametrize(
    ("degrees", "point"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_students_t_is_the_textbooks(degrees: int, point: float) -> None:
    assert student_t(degrees) == pytest.approx(point, abs=5e-4)


def test_the_mean_of_students_own_ten_patients_has_the_interval_that_r_gives() -> None:
    # R: t.test(sleep$extra[1:10]) -> mean 0.75, 95 percent confidence interval -0.5297804 2.0297804
    found = mean(SLEEP)
    assert found.n == 10
    assert found.value == pytest.approx(0.75)
    assert found.low == pytest.approx(-0.5297804, abs=1e-6)
    assert found.high == pytest.approx(2.0297804, abs=1e-6)


def test_one_repeat_has_a_value_and_no_interval() -> None:
    assert mean([3.0]) == Interval(3.0, None, None, 1)
    assert mean([3.0]).holds(3.0) is None


def test_a_ratio_is_a_geometric_mean_with_students_t_on_logarithms() -> None:
    # Ratios 2 and 8: logs ln 2 and 3 ln 2, mean 2 ln 2, s = sqrt(2) ln 2, half = 12.7062 * s / sqrt(2).
    found = ratio([(4, 2), (8, 1)])
    assert found is not None
    half = 12.706204736 * math.log(2)
    assert found.value == pytest.approx(4.0)
    assert found.low == pytest.approx(4 * math.exp(-half))
    assert found.high == pytest.approx(4 * math.exp(half))


def test_a_ratio_turned_round_has_the_same_interval_turned_round() -> None:
    pairs = [(4.0, 2.0), (9.0, 4.0), (5.0, 3.0)]
    low, high = bounds(ratio(pairs))
    assert bounds(ratio([(b, a) for a, b in pairs])) == pytest.approx((1 / high, 1 / low))


def test_what_is_not_above_zero_has_no_ratio() -> None:
    assert ratio([]) is None
    assert ratio([(1, 0), (1, 1)]) is None
    assert ratio([(0, 1)]) is None


def test_what_is_counted_is_its_own_interval_unless_the_counts_differ() -> None:
    assert exact([93184.0]) == Interval(93184.0, 93184.0, 93184.0, 1)
    assert exact([5.0, 5.0]).holds(5.0)
    assert exact([4.0, 6.0]).low != exact([4.0, 6.0]).high


def test_blocks_are_paired_by_their_number_and_lonely_ones_left_out() -> None:
    assert paired({1: 10.0, 2: 20.0, 3: 30.0}, {3: 3.0, 1: 1.0}) == [(10.0, 1.0), (30.0, 3.0)]


def test_a_share_has_wilsons_interval() -> None:
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, method 3: 81 of 263 gives 0.2553 to 0.3662.
    assert bounds(share(81, 263)) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert share(0, 0) is None


def bounds(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def covered(draw: Callable[[random.Random], Interval | None], truth: float, times: int = 4000) -> float:
    rng = random.Random(20261129)
    return sum(bool((found := draw(rng)) and found.holds(truth)) for _ in range(times)) / times


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 10])
def test_95_percent_of_the_intervals_of_a_mean_hold_the_mean(n: int) -> None:
    assert 0.93 <= covered(lambda rng: mean([rng.gauss(50, 4) for _ in range(n)]), 50.0) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 10])
def test_95_percent_of_the_intervals_of_a_ratio_hold_the_ratio_though_blocks_differ(n: int) -> None:
    """The machine's mood of a block (20 %) meets both arms; their own noise is 3 %; the truth is 1.3."""

    def one(rng: random.Random) -> Interval | None:
        moods = [rng.lognormvariate(0, 0.2) for _ in range(n)]
        return ratio(
            [(1.3 * m * rng.lognormvariate(0, 0.03), m * rng.lognormvariate(0, 0.03)) for m in moods]
        )

    assert 0.93 <= covered(one, 1.3) <= 0.97


def test_pairing_makes_the_interval_narrower_where_blocks_differ() -> None:
    rng = random.Random(1)
    moods = [rng.lognormvariate(0, 0.2) for _ in range(5)]
    pairs = [(1.3 * m * rng.lognormvariate(0, 0.03), m * rng.lognormvariate(0, 0.03)) for m in moods]
    shuffled = list(zip([a for a, _ in pairs], [b for _, b in pairs[1:] + pairs[:1]], strict=True))
    near, far = bounds(ratio(pairs)), bounds(ratio(shuffled))
    assert near[1] / near[0] < far[1] / far[0]
