import pytest

from loadgen.stats.quantiles import distribution, sample_quantile


def test_quantiles_are_type_7():
    # R: quantile(c(1, 2, 4, 8, 16), c(.1, .5, .75, .9), type = 7) gives 1.4 4.0 8.0 12.8.
    values = [1.0, 2.0, 4.0, 8.0, 16.0]

    assert [sample_quantile(values, percent) for percent in (10, 50, 75, 90)] == pytest.approx(
        [1.4, 4, 8, 12.8]
    )


def test_the_quantile_of_one_value_is_that_value():
    assert sample_quantile([3.5], 99) == 3.5


def test_an_empty_sample_is_unknown_and_not_zero():
    assert distribution([]).as_dict() == {
        "n": 0,
        "mean": None,
        "p50": None,
        "p90": None,
        "p95": None,
        "p99": None,
        "max": None,
        "ci95": {"p50": None, "p90": None, "p95": None, "p99": None},
    }


def test_undefined_values_are_not_in_n_and_not_in_the_mean():
    found = distribution([2.0, None, 4.0])

    assert (found.n, found.mean, found.max) == (2, 3.0, 4.0)


def test_the_order_of_a_sample_does_not_matter():
    assert distribution([3.0, 1.0, 2.0]) == distribution([1.0, 2.0, 3.0])


def test_p99_of_71_requests_is_withheld_for_it_would_be_the_maximum():
    # guidellm PR #1163.
    found = distribution(float(value) for value in range(1, 72)).as_dict()

    assert found["p99"] is None
    assert found["ci95"]["p99"] is None
    assert found["p95"] is None
    assert found["p90"] == pytest.approx(64.0)
    assert found["max"] == 71.0


@pytest.mark.parametrize(("percent", "n"), [("p50", 6), ("p90", 46), ("p95", 93), ("p99", 473)])
def test_a_percentile_appears_with_the_first_n_that_carries_it(percent, n):
    assert distribution([1.0] * (n - 1)).as_dict()[percent] is None
    assert distribution([1.0] * n).as_dict()[percent] == 1.0


def test_the_interval_of_a_percentile_is_made_of_observed_values():
    # n = 20, median: x(6) and x(15).
    found = distribution(float(value) ** 2 for value in range(1, 21)).as_dict()

    assert found["ci95"]["p50"] == [36.0, 225.0]
    assert found["p50"] == pytest.approx((100 + 121) / 2)


def test_means_do_not_lose_small_values_beside_large_ones():
    assert distribution([1e16, 1.0, 1.0, -1e16]).mean == 0.5
