from __future__ import annotations

import pytest

from dashboards.judging import Answer
from dashboards.panels import Panel, Query, Threshold
from dashboards.preview.lines import COLORS, PALETTE, legend_name, lines, runs, threshold_color
from dashboards.samples import Point, Series


def panel(**changes) -> Panel:
    settings = {"key": "k", "title": "T", "unit": "count", "queries": (), "help": "h"}
    return Panel(**{**settings, **changes})


def answer(query: Query, *series: Series) -> Answer:
    return Answer(query, query.expr, series)


def one(value: float | None = 1.0, **labels: str) -> Series:
    return Series(labels, (Point(10.0, value),))


@pytest.mark.parametrize(
    ("legend", "labels", "name"),
    [
        ("p50", {"a": "b"}, "p50"),
        ("{{revision}} {{ role }}", {"revision": "v1", "role": "any"}, "v1 any"),
        ("{{revision}} {{gone}}", {"revision": "v1"}, "v1"),
        ("", {"__name__": "up", "b": "2", "a": "1"}, 'up{a="1", b="2"}'),
        ("", {"__name__": "up"}, "up"),
        ("", {}, "value"),
    ],
)
def test_a_series_is_named_by_its_legend_or_its_labels(legend, labels, name):
    assert legend_name(legend, labels) == name


def test_lines_come_by_query_and_then_by_name_without_those_that_have_nothing():
    by = Query(expr="x", legend="{{slo}}")
    found = lines(
        panel(),
        [
            answer(by, one(slo="ttft"), one(slo="e2e"), one(None, slo="gone")),
            answer(Query(expr="y", legend="all"), one()),
        ],
    )
    assert [line.name for line in found] == ["e2e", "ttft", "all"]


def test_a_colour_is_the_panels_by_name_or_the_querys():
    said = panel(colors=(("ok", "green"),))
    found = lines(said, [answer(Query(expr="x", legend="{{o}}", color="amber"), one(o="ok"), one(o="error"))])
    assert [(line.name, line.color) for line in found] == [
        ("error", COLORS["amber"]),
        ("ok", COLORS["green"]),
    ]


def test_series_without_a_colour_have_different_ones_and_the_same_in_every_panel():
    names = [f"v{index}" for index in range(len(PALETTE))]
    found = lines(panel(), [answer(Query(expr="x", legend="{{r}}"), *(one(r=name) for name in names))])
    assert len({line.color for line in found}) == len(PALETTE)
    alone = lines(panel(), [answer(Query(expr="y", legend="{{r}}"), one(r=found[0].name))])
    assert alone[0].color == found[0].color


def test_the_last_threshold_that_is_reached_gives_the_colour():
    steps = panel(thresholds=(Threshold(None, "red"), Threshold(0, "amber"), Threshold(0.25, "green")))
    reached = [threshold_color(steps, value) for value in (-1, 0, 0.2, 0.25)]
    assert reached == [COLORS[name] for name in ("red", "amber", "amber", "green")]
    assert threshold_color(panel(), 1) is None


def test_a_hole_of_more_than_a_step_divides_a_line():
    points = [(0.0, 1.0), (5.0, 1.0), (15.0, 2.0), (20.0, 2.0), (40.0, 3.0)]
    assert [len(piece) for piece in runs(points, 5.0)] == [2, 2, 1]
    assert list(runs([], 5.0)) == []
