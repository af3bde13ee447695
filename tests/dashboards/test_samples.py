from __future__ import annotations

import math

import pytest

from dashboards.samples import Point, Sample, Series, duration_s, number, read_metadata, read_vector


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("15s", 15), ("1m30s", 90), ("2h", 7200), ("1d", 86400), ("1w", 604800), ("0s", 0)],
)
def test_a_duration_is_read_as_prometheus_writes_it(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1.5s", "5 m", "5min"])
def test_something_else_is_no_duration(text):
    with pytest.raises(ValueError, match="is not a duration"):
        duration_s(text)


def test_nan_is_no_number_and_infinity_is_one_that_cannot_be_drawn():
    assert number("NaN") is None
    assert number("+Inf") == math.inf
    assert number("0.25") == 0.25
    assert [Sample({}, 0, value).finite for value in (None, math.inf, 0.0)] == [False, False, True]


def test_only_finite_points_of_a_series_are_drawn():
    series = Series({}, (Point(1, 2.0), Point(2, None), Point(3, -math.inf), Point(4, 0.0)))
    assert series.finite() == ((1, 2.0), (4, 0.0))


def test_a_scalar_is_one_sample_without_labels():
    assert read_vector({"resultType": "scalar", "result": [5.5, "2"]}) == (Sample({}, 5.5, 2.0),)


def test_metadata_tells_what_the_first_exporter_says():
    rows = [{"type": "gauge", "help": "One.", "unit": ""}, {"type": "counter", "help": "Two.", "unit": ""}]
    found = read_metadata({"up_to": rows, "nobody": []})
    assert [(m.name, m.kind, m.help) for m in found.values()] == [("up_to", "gauge", "One.")]
