import json
import random

import pytest

from loadgen.stats.histogram import RELATIVE_ERROR, Histogram, merged
from loadgen.stats.quantiles import distribution, sample_quantile


def filled(values):
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def lognormal(n, seed=1, scale=0.05):
    rng = random.Random(seed)
    return [scale * rng.lognormvariate(0, 1.5) for _ in range(n)]


@pytest.mark.parametrize("percent", [1, 50, 90, 95, 99, 99.9])
def test_a_quantile_is_within_one_percent_of_the_exact_one(percent):
    values = lognormal(5_000)

    exact = sample_quantile(sorted(values), percent)

    assert filled(values).quantile_s(percent) == pytest.approx(exact, rel=RELATIVE_ERROR)


@pytest.mark.parametrize("value", [1e-9, 3.7e-6, 0.010, 0.01020202, 1.0, 600.0, 1e5])
def test_any_single_scale_has_the_same_relative_error(value):
    # Three values, so that the middle one is neither the exact minimum nor the exact maximum.
    found = filled([value * 0.5, value, value * 2]).quantile_s(50)

    assert found == pytest.approx(value, rel=RELATIVE_ERROR, abs=1e-9)


@pytest.mark.parametrize("percent", [0, 10, 50, 95, 99, 100])
def test_the_bounds_hold_the_exact_quantile(percent):
    values = lognormal(997, seed=3)
    low, high = filled(values).quantile_bounds_s(percent)

    assert low - 1e-9 <= sample_quantile(sorted(values), percent) <= high + 1e-9


def test_mean_count_and_extremes_are_exact_to_the_nanosecond():
    histogram = filled([0.000000001, 0.25, 0.749999999])

    assert (histogram.n, histogram.sum_ns) == (3, 1_000_000_000)
    assert (histogram.min_ns, histogram.max_ns) == (1, 749_999_999)
    assert histogram.mean_s == pytest.approx(1 / 3)
    assert histogram.quantile_s(100) == 0.749999999


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_merging_parts_in_any_order_is_the_same_as_one_histogram(parts):
    values = lognormal(1_000, seed=5)
    shares = [filled(values[i::parts]) for i in range(parts)]

    whole = filled(values)

    assert merged(shares) == whole
    assert merged(reversed(shares)) == whole


def test_merging_leaves_the_merged_ones_as_they_were():
    one, other = filled([0.1]), filled([0.2])

    merged([one, other])

    assert (one, other) == (filled([0.1]), filled([0.2]))


def test_the_wire_form_is_json_and_comes_back_equal():
    histogram = filled([*lognormal(500, seed=9), 0.0, -0.002])

    wire = json.loads(json.dumps(histogram.to_wire(), allow_nan=False))

    assert Histogram.from_wire(wire) == histogram
    assert Histogram.from_wire(Histogram().to_wire()) == Histogram()


def test_the_wire_form_of_many_values_stays_small():
    assert len(json.dumps(filled(lognormal(20_000)).to_wire())) < 6_000


def test_a_histogram_with_other_buckets_is_refused_and_not_merged_wrongly():
    with pytest.raises(ValueError, match="run the same version in every process"):
        Histogram.from_wire(Histogram().to_wire() | {"error": 0.02})


def test_nothing_counted_is_unknown_and_not_zero():
    empty = Histogram()

    assert (empty.mean_s, empty.max_s, empty.quantile_s(50), empty.quantile_bounds_s(50)) == (None,) * 4
    assert empty.distribution() == distribution([])
    assert empty.counts_at_most([1.0]) == [0]


def test_a_lag_below_zero_is_counted_and_summed():
    histogram = filled([-0.002, -0.001, 0.004, 0.008])

    assert (histogram.n, histogram.not_positive) == (4, 2)
    assert histogram.mean_s == pytest.approx(0.00225)
    assert histogram.quantile_s(0) == -0.002


def test_a_count_stands_for_as_many_values():
    many = Histogram()
    many.add(0.010, count=3)

    assert many == filled([0.010] * 3)


def test_its_distribution_withholds_what_the_exact_one_withholds():
    values = lognormal(120, seed=11)
    found, exact = filled(values).distribution(), distribution(values)

    assert (found.n, found.max) == (exact.n, pytest.approx(exact.max, abs=1e-9))
    assert found.percentiles[99] is None
    assert found.ci95[99] is None
    for percent in (50, 90, 95):
        assert found.percentiles[percent] == pytest.approx(exact.percentiles[percent], rel=0.01)
        assert found.ci95[percent] == pytest.approx(exact.ci95[percent], rel=0.01)


def test_cumulative_counts_are_those_of_the_values_but_near_a_bound():
    values = [0.005, 0.05, 0.5, 5.0]

    assert filled(values).counts_at_most([0.001, 0.01, 0.1, 1.0, 10.0]) == [0, 1, 2, 3, 4]


def test_cumulative_counts_never_shrink_with_the_bound_nor_exceed_the_truth():
    values = lognormal(2_000, seed=13)
    bounds = [0.001 * 1.3**step for step in range(40)]

    found = filled(values).counts_at_most(bounds)

    assert found == sorted(found)
    truth = [sum(value <= bound for value in values) for bound in bounds]
    lower = [sum(value <= bound * 0.98 for value in values) for bound in bounds]
    assert all(low <= count <= high for low, count, high in zip(lower, found, truth, strict=True))
