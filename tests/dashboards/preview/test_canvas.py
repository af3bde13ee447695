from __future__ import annotations

import pytest

from dashboards.preview.canvas import Canvas
from dashboards.preview.grid import Box


def test_words_that_fit_stay_and_others_end_in_an_ellipsis():
    canvas = Canvas(100)
    assert canvas.fitted("short", 500) == "short"
    cut = canvas.fitted("a very long name of a series", 80)
    assert cut.endswith("…")
    assert "a very long name of a series".startswith(cut[:-1])
    assert canvas.width(cut) <= 80


def test_bold_and_larger_words_are_wider():
    canvas = Canvas(100)
    assert canvas.width("TTFT", 12) < canvas.width("TTFT", 12, "bold") < canvas.width("TTFT", 24, "bold")


def test_a_rectangle_lies_where_it_was_put_from_the_upper_left_corner():
    canvas = Canvas(200)
    canvas.rectangle(Box(10, 20, 30, 40), "#123456")
    svg = canvas.svg("x")
    # In points of 1/72 inch, at 100 pixels an inch: 10 px are 7.2, 20 px are 14.4, 60 px are 43.2.
    (path,) = [part for part in svg.split("<path") if "#123456" in part]
    assert "7.2 43.2" in path
    assert "28.8 14.4" in path


@pytest.mark.slow
def test_the_same_page_is_the_same_svg_every_time():
    def drawn() -> str:
        canvas = Canvas(100)
        canvas.text(10, 10, "TTFT <p95> & $5")
        canvas.axes(Box(10, 10, 50, 50)).plot([1, 2], [3, 4])
        return canvas.svg("x")

    assert drawn() == drawn()
    assert "TTFT &lt;p95&gt; &amp; $5" in drawn()
