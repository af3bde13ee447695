import pytest

from loadgen.stats.differences import around, of_means, of_pairs, of_ratios, possible


@pytest.mark.parametrize(
    ("p", "q", "interval"),
    # Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10: first less second.
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((10, 10), (0, 20), (0.6791, 1.0000)),
        ((10, 10), (0, 10), (0.6075, 1.0000)),
    ],
)
def test_ratios_differ_as_in_newcombes_paper(p, q, interval):
    assert of_ratios(q, p, 0.025) == pytest.approx(interval, abs=5e-5)


def test_no_trials_tell_nothing():
    assert of_ratios((0, 0), (1, 2), 0.025) is None


def test_pairs_differ_as_in_agrestis_example():
    # Agresti, Categorical Data Analysis, 10.1: 794, 150, 86, 570 of 1,600; -0.04 with a standard error of
    # 0.0095, so -0.06 to -0.02.
    first = [1] * 794 + [1] * 150 + [0] * 86 + [0] * 570
    second = [1] * 794 + [0] * 150 + [1] * 86 + [0] * 570

    assert of_pairs(first, second, 0.025) == pytest.approx((-0.04 - 0.0187, -0.04 + 0.0187), abs=3e-4)


def test_pairs_that_all_went_alike_have_a_width_all_the_same():
    found = of_pairs([1] * 100, [1] * 100, 0.025)

    assert found is not None
    assert -found[0] == pytest.approx(found[1])
    assert 0.01 < found[1] < 0.03


def test_no_interval_says_that_ratios_differ_by_more_than_all_of_it():
    found = of_pairs([1] * 200, [0] * 200, 0.025, correlation_time=20.0)
    assert found is not None
    assert found[0] == -1.0
    assert found[1] < -0.5
    assert possible(-0.3, 1.2) == (-0.3, 1.0)


def test_correlated_pairs_count_as_fewer():
    first, second = [1, 0, 1, 1] * 50, [1, 1, 1, 0] * 50

    def width(time):
        found = of_pairs(first, second, 0.025, correlation_time=time)
        assert found is not None
        return found[1] - found[0]

    assert width(4.0) == pytest.approx(2 * width(1.0), rel=0.05)
    assert of_pairs([], [], 0.025) is None


def test_means_differ_as_in_a_worked_example():
    # By hand: means 20.6 and 25.75, variances 1.8 and 35/12, so 0.36 and 0.729 of the means, and
    # 1.089^2 / (0.36^2 / 4 + 0.729^2 / 3) = 5.66 degrees; t.975 is 2.571 for 5 and 2.447 for 6 of them.
    found = of_means([20, 22, 19, 20, 22], [28, 24, 26, 25], 0.025)
    assert found is not None
    low, high = found

    se = (1.8 / 5 + 35 / 12 / 4) ** 0.5
    assert (high + low) / 2 == pytest.approx(5.15)
    assert 2.447 < (high - low) / 2 / se < 2.571
    assert (high - low) / 2 / se == pytest.approx(2.447 + (2.571 - 2.447) * 0.34, abs=0.01)


def test_means_without_any_spread_differ_for_certain():
    assert of_means([1.0, 1.0], [3.0, 3.0], 0.025) == (2.0, 2.0)


def test_one_number_has_no_spread_to_tell_from():
    assert of_means([1.0], [2.0, 3.0], 0.025) is None


def test_around_holds_all_and_is_unknown_with_one_of_them():
    assert around((0.0, 1.0), (-1.0, 0.5)) == (-1.0, 1.0)
    assert around((0.0, 1.0), None) is None
    assert around() is None
