from __future__ import annotations

from dashboards.panels import Panel
from dashboards.preview.canvas import Canvas
from dashboards.preview.lines import COLORS
from dashboards.preview.tiles import LARGEST, SMALLEST, fitting, shown, word_color

PANEL = Panel(
    key="k",
    title="T",
    kind="stat",
    unit="ratio",
    queries=(),
    help="h",
    decimals=1,
    words=((1.0, "whole", "green"),),
)


def test_a_value_with_a_word_is_the_word_and_others_are_numbers():
    assert (shown(PANEL, 1.0), shown(PANEL, 0.5)) == ("whole", "50.0 %")
    assert (word_color(PANEL, 1.0), word_color(PANEL, 0.5)) == (COLORS["green"], None)


def test_a_number_is_as_large_as_its_tile_allows():
    canvas = Canvas(100)
    assert fitting(canvas, "1 s", 500, 200) == LARGEST
    middle = fitting(canvas, "99.95 %", 100, 200)
    assert SMALLEST < middle < LARGEST
    assert canvas.width("99.95 %", middle, "bold") <= 101
    assert fitting(canvas, "1 s", 500, 20) == 20
    assert fitting(canvas, "a number that fits nowhere", 40, 20) == SMALLEST
