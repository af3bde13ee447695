"""Numbers in words."""

from __future__ import annotations

import pytest
from fakes.study_page import figure

from deploy.study.report.figures import amount, interval, number, told


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (93184, "93,184"),
        (2.0, "2"),
        (0.012345, "0.0123"),
        (41.26, "41.3"),
        (123.45, "123.5"),
        (12345.6, "12,346"),
    ],
)
def test_a_number_has_the_digits_that_matter(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1073741824, "bytes", "1 GiB"),
        (1572864, "bytes", "1.5 MiB"),
        (512, "bytes", "512 B"),
        (0.0412, "s", "41.2 ms"),
        (2.5, "s", "2.5 s"),
        (0.914, "ratio", "91.4 %"),
        (1.98, "x", "1.98x"),
        (41.26, "tokens/s", "41.3 tok/s"),
        (93184, "tokens", "93,184 tokens"),
        (3, "", "3"),
    ],
)
def test_an_amount_has_its_unit(value, unit, words):
    assert amount(value, unit) == words


def test_a_figure_says_its_interval_its_n_and_its_tag():
    assert told(figure(100, "tokens/s", 0.05)) == "100 tok/s [95 tok/s, 105 tok/s], n = 3, measured"


def test_a_single_repeat_has_no_interval_and_says_so():
    assert interval(figure(100, "tokens/s", None, n=1)) == "no interval"
