from __future__ import annotations

import pytest

from dashboards.preview.numbers import number, tick_labels


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.1234, "seconds", "123 ms"),
        (0.9999, "seconds", "1 s"),
        (0.0000512, "seconds", "51.2 µs"),
        (12.345, "seconds", "12.3 s"),
        (90.0, "seconds", "1.5 min"),
        (0.0, "seconds", "0 s"),
        (0.975, "ratio", "97.5 %"),
        (-0.5, "ratio", "−50 %"),
        (0.0, "ratio", "0 %"),
        (1536.0, "bytes", "1.5 KiB"),
        (3 * 2**30, "bytes", "3 GiB"),
        (2**20, "bytes/s", "1 MiB/s"),
        (1234.0, "tokens", "1.23 k"),
        (999.9, "tokens/s", "1 k tok/s"),
        (4.25, "requests/s", "4.25 req/s"),
        (1.5, "dollars", "$1.5"),
        (14.4, "factor", "14.4 ×"),
        (7.0, "count", "7"),
        (0.0123456, "count", "0.0123"),
    ],
)
def test_a_number_has_three_digits_and_its_unit(value, unit, shown):
    assert number(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "shown"),
    [
        (0.99949, "ratio", 2, "99.95 %"),
        (3.0, "count", 0, "3"),
        (-0.001, "ratio", 0, "0 %"),
        (2.5, "dollars", 2, "$2.50"),
    ],
)
def test_decimals_that_are_asked_for_are_kept(value, unit, decimals, shown):
    assert number(value, unit, decimals) == shown


@pytest.mark.parametrize(
    ("ticks", "unit", "labels"),
    [
        ([0.0, 0.25, 0.5], "seconds", ("0 ms", "250 ms", "500 ms")),
        ([0.0, 0.5, 1.0], "seconds", ("0.0 s", "0.5 s", "1.0 s")),
        ([0.0, 0.25, 0.5], "count", ("0.00", "0.25", "0.50")),
        ([0.0, 0.025, 0.05], "ratio", ("0.0 %", "2.5 %", "5.0 %")),
        ([0.0, 2.0, 4.0], "requests/s", ("0 req/s", "2 req/s", "4 req/s")),
        ([0.0, 2**29, 2**30], "bytes", ("0.0 GiB", "0.5 GiB", "1.0 GiB")),
    ],
)
def test_the_labels_of_an_axis_share_a_scale_and_tell_ticks_apart(ticks, unit, labels):
    assert tick_labels(ticks, unit) == labels
