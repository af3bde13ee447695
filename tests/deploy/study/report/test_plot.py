"""Points, lines and whiskers are where their values are."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from deploy.study.report.plot import Axis, Level, Point, Series, axis, counted, ends, plot
from loadgen.report.scales import Scale

X = Axis(label="x", scale=Scale(0.0, 10.0), ticks=((0, "0"), (10, "10")))
Y = Axis(label="y", scale=Scale(0.0, 100.0), ticks=((0, "0"), (100, "100")))


def line(*points: Point, **changes) -> Series:
    return replace(Series(name="one", points=points, look=1), **changes)


def test_a_point_is_at_its_values(places):
    body = plot([line(Point(x=5, y=25, tip="t"))], X, Y, says="s")
    assert places(body) == [(50.0, 25.0)]


def test_a_whisker_reaches_from_end_to_end_of_the_interval():
    body = plot([line(Point(x=5, y=25, y_low=20, y_high=40, x_low=4, x_high=7, tip="t"))], X, Y, says="s")
    assert 'd="M500.0 600.0V800.0M400.0 750.0H700.0"' in body


def test_what_is_not_measured_is_hollow_and_its_line_dashed():
    points = (
        Point(x=0, y=0, tip="a"),
        Point(x=5, y=50, tip="b"),
        Point(x=10, y=100, tip="c", tag="projected"),
    )
    body = plot([line(*points)], X, Y, says="s")
    assert re.findall(r'class="(series[^"]*)"', body) == ["series look1", "series look1 dashed"]
    assert re.findall(r'class="(point [^"]*)"', body) == [
        "point look1",
        "point look1",
        "point look1 hollow west",
    ]


def test_each_point_can_be_reached_by_keyboard_and_says_its_numbers():
    body = plot([line(Point(x=5, y=25, tip='a "quoted" <tip>'))], X, Y, says="s")
    assert 'tabindex="0" role="img"' in body
    assert 'aria-label="a &quot;quoted&quot; &lt;tip&gt;"' in body
    assert "<tip>" not in body


def test_series_have_names_and_markers_of_their_own():
    body = plot(
        [line(Point(x=1, y=1, tip="t")), line(Point(x=2, y=2, tip="t"), name="two", look=2)], X, Y, says="s"
    )
    assert re.findall(r'<b class="look(\d)">(.)</b>(\w+)</li>', body) == [
        ("1", "\u25a0", "one"),
        ("2", "\u25b2", "two"),
    ]


def test_a_single_series_needs_no_legend():
    assert "legend" not in plot([line(Point(x=1, y=1, tip="t"))], X, Y, says="s")


def test_steps_are_arrows_without_a_name(places):
    step = line(Point(x=0, y=0, tip="a"), Point(x=10, y=50, tip="b"), markers=False)
    body = plot([line(Point(x=0, y=0, tip="a"))], X, Y, says="s", steps=[step])
    assert 'class="arrow" style="left:50.00%;top:75.00%;--dx:100.00;--dy:-50.00"' in body
    assert len(places(body)) == 1


def test_a_level_is_a_line_with_words():
    body = plot([line(Point(x=1, y=1, tip="t"))], X, Y, says="s", levels=[Level(y=30, label="a & b")])
    assert '<path class="level" d="M0 700.0H1000"/>' in body
    assert "a &amp; b" in body


def test_an_axis_begins_at_zero_but_where_differences_matter():
    assert axis("a", [10, 20]).scale.low == 0
    near = axis("a", [1.0, 1.1], zero=False).scale
    assert 0.98 < near.low < 1.0 < 1.1 < near.high < 1.12
    assert axis("a", [3, 4], log=True).label == "a, logarithmic"


def test_one_value_alone_still_has_an_axis():
    for made in (axis("a", [5.0], zero=False), axis("a", [0.0], log=False), counted("a", [4])):
        assert made.scale.low < made.scale.high


def test_a_counted_axis_has_a_tick_at_each_value_that_does_not_touch_its_neighbour():
    assert counted("users", [1, 2, 4, 8]).ticks == ((1, "1"), (2, "2"), (4, "4"), (8, "8"))
    assert [value for value, _ in counted("tokens", [128, 131_000, 131_072]).ticks] == [128, 131_072]


def test_the_ends_of_intervals_belong_to_the_range():
    points = [line(Point(x=1, y=5, y_low=4, y_high=9, tip="t"))]
    assert ends(points, "y") == [5, 4, 9]
    assert ends(points, "x") == [1]


def test_what_is_not_above_0_stands_at_the_lower_border_of_decades():
    drawn = axis("KV cache", [0.0, 10.0, 1000.0], log=True)
    assert drawn.scale.at(0.0) == 0
    assert drawn.scale.low == pytest.approx(10 / 1.15)
    assert axis("KV cache", [0.0], log=True).scale.low > 0
