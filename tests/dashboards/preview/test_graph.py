from __future__ import annotations

import pytest

from dashboards.panels import Panel
from dashboards.preview.canvas import Canvas
from dashboards.preview.graph import MOST_LEGEND_LINES, legend_rows, limits, totals, value_ticks
from dashboards.preview.lines import Line


def panel(**changes) -> Panel:
    settings = {"key": "k", "title": "T", "unit": "count", "queries": (), "help": "h"}
    return Panel(**{**settings, **changes})


def line(*values: float, name: str = "n", style: str = "line") -> Line:
    return Line(name, "#000", style, tuple((float(at), value) for at, value in enumerate(values)), {})


def test_the_axis_has_a_little_room_where_the_panel_says_no_limit():
    low, high = limits(panel(lowest=0), [line(5, 10)])
    assert low == 0
    assert 10 < high < 11
    assert limits(panel(lowest=0, highest=1, unit="ratio"), [line(0.2)]) == (0, 1)


@pytest.mark.parametrize("values", [(0.0, 0.0), (7.0, 7.0), (-3.0,)])
def test_a_constant_has_an_axis_too(values):
    low, high = limits(panel(), [line(*values)])
    assert low < min(values) + 1e-9
    assert high > max(values)


def test_a_stack_is_as_high_as_its_sum_and_a_limit_is_not_part_of_it():
    found = [line(1, 2, name="a"), line(3, 4, name="b"), line(5, 5, name="limit", style="limit")]
    assert totals(found[:2]) == [(0, 4), (1, 6)]
    assert 6 < limits(panel(lowest=0, stacked=True), found)[1] < 7


@pytest.mark.parametrize(
    ("low", "high", "changes", "ticks"),
    [
        (0, 1, {"unit": "ratio"}, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 3 * 2**20, {"unit": "bytes"}, [0, 2**20, 2 * 2**20, 3 * 2**20]),
        (0, 240, {"unit": "seconds"}, [0, 60, 120, 180, 240]),
        (0, 1.06, {"decimals": 0}, [0, 1]),
        (1, 1000, {"logarithmic": True}, [1, 10, 100, 1000]),
    ],
)
def test_marks_are_round_in_what_they_are_shown_in(low, high, changes, ticks):
    assert value_ticks(low, high, panel(**changes)) == pytest.approx(ticks)


@pytest.mark.slow
def test_a_legend_goes_on_in_the_next_row_and_names_each_series_once():
    canvas = Canvas(100)
    few = legend_rows(canvas, [line(name="a"), line(name="b"), line(name="a")], 400)
    assert [[name for _, _, name in row] for row in few] == [["a", "b"]]
    many = legend_rows(canvas, [line(name=f"http://127.0.0.1:{index}") for index in range(50)], 400)
    assert len(many) == MOST_LEGEND_LINES
    assert all(x + 20 + canvas.width(name, 11) <= 400 for row in many for x, _, name in row)
