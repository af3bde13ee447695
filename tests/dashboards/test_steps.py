from __future__ import annotations

import pytest

from dashboards.steps import Span


@pytest.mark.parametrize(
    ("length_s", "points", "scrape_s", "step_s"),
    [
        (300, 480, 5, 5),  # 0.6 s a pixel: no finer than the scrapes
        (3600, 480, 5, 10),  # 7.5 s a pixel
        (3600, 1440, 1, 5),  # 2.5 s a pixel
        (86400, 480, 15, 300),  # 180 s a pixel
        (40 * 86400 * 480, 480, 15, 40 * 86400),
    ],
)
def test_a_step_is_nice_and_neither_finer_than_pixels_nor_than_scrapes(length_s, points, scrape_s, step_s):
    assert Span(0, length_s, scrape_s).step_s(points) == step_s


@pytest.mark.parametrize(
    ("step_s", "scrape_s", "window"), [(5, 5, "20s"), (60, 5, "65s"), (1, 0.5, "2s"), (0.5, 0.5, "2s")]
)
def test_a_rate_looks_over_four_scrapes_and_over_the_whole_step(step_s, scrape_s, window):
    assert Span(0, 300, scrape_s).builtins(step_s)["__rate_interval"] == window


def test_the_range_is_told_as_a_duration_and_in_seconds():
    known = Span(100, 400, 5).builtins(5)
    assert (known["__range"], known["__range_s"], known["__interval"]) == ("300s", "300", "5s")
    assert Span(0, 1.25, 1).builtins(1)["__range"] == "1250ms"
