"""What stands on a drawn board, read from the text and shapes of its SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dashboards.boards import BOARDS
from dashboards.judging import Answer
from dashboards.panels import Board, Column, Panel, Query, Row, Threshold, Variable
from dashboards.preview.board import NOTE, PAINTERS, Seen, draw_board, nothing
from dashboards.preview.lines import COLORS
from dashboards.samples import Point, Series
from dashboards.steps import Span

SPAN = Span(1_795_953_600.0, 1_795_954_500.0, 5.0)
A, B = Query(expr="a", legend="{{revision}}"), Query(expr="b", legend="limit", style="limit")


def series(*values: float, **labels: str) -> Series:
    return Series(labels, tuple(Point(SPAN.start_s + 5 * at, value) for at, value in enumerate(values)))


def panel(**changes) -> Panel:
    settings = {"key": "k", "title": "The title", "unit": "seconds", "queries": (A,), "help": "h"}
    return Panel(**{**settings, **changes})


def drawn(one: Panel, *answers: Answer) -> str:
    made = Board(
        uid="teapot-x", title="Overview", help="Are users fine?", rows=(Row("The row", (one,)),),
        variables=(Variable(name="deployment", title="Deployment"), Variable(name="role", title="Role")),
    )  # fmt: skip
    seen = Seen("http://127.0.0.1:9090", SPAN, 5.0, {"deployment": "demo", "role": ".*"}, {one.key: answers})
    return draw_board(made, seen).svg("x")


def words(svg: str) -> list[str]:
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).strip() for text in found]


@pytest.mark.slow
def test_the_header_says_that_it_is_a_preview_of_when_and_from_where():
    said = words(drawn(panel(), Answer(A, "a", (series(1, 2),))))
    assert NOTE in said
    assert "not by Grafana" in NOTE
    assert "2026-11-29 12:00:00 to 12:15:00 UTC" in said
    assert "Prometheus at http://127.0.0.1:9090" in said
    assert "Deployment: demo  ·  Role: all" in said
    assert {"teapot: Overview", "Are users fine?", "The row", "The title"} <= set(said)


@pytest.mark.slow
def test_a_graph_has_a_name_for_each_series_and_units_on_its_axis():
    said = words(
        drawn(
            panel(lowest=0),
            Answer(A, "a", (series(0.1, 0.2, revision="v1"), series(0.2, 0.4, revision="v2"))),
        )
    )
    assert {"v1", "v2", "0 ms", "200 ms", "400 ms", "12:00", "12:10"} <= set(said)


@pytest.mark.slow
@pytest.mark.parametrize("stacked", [False, True])
def test_a_graph_draws_every_piece_of_every_series(stacked):
    mine = Query(expr="a", legend="{{revision}}", color="purple")
    limit = Query(expr="b", legend="limit", color="red", style="limit")
    pieces = Series({"revision": "v1"}, tuple(Point(SPAN.start_s + at, 1.0) for at in (0, 5, 60, 65)))
    one = panel(queries=(mine, limit), stacked=stacked)
    svg = drawn(one, Answer(mine, "a", (pieces,)), Answer(limit, "b", (series(2, 2, 2),)))
    strokes = re.findall(r'style="fill: none; [^"]*stroke: (#\w+)', svg)
    assert strokes.count(COLORS["purple"]) == (0 if stacked else 2)
    assert strokes.count(COLORS["red"]) == 1
    assert svg.count(f"fill: {COLORS['purple']}; fill-opacity") == (2 if stacked else 0)


def test_a_stat_has_a_tile_for_each_series_with_its_number_in_the_threshold_colour():
    one = panel(
        kind="stat", unit="ratio", decimals=1, thresholds=(Threshold(None, "red"), Threshold(0.9, "green"))
    )
    svg = drawn(one, Answer(A, "a", (series(0.5, 0.955, revision="v1"), series(0.25, revision="v2"))))
    assert {"v1", "95.5 %", "v2", "25.0 %"} <= set(words(svg))
    assert COLORS["green"] in svg
    assert COLORS["red"] in svg


def test_a_bar_gauge_says_each_name_and_number():
    one = panel(kind="bargauge", unit="bytes", highest=2**30)
    said = words(drawn(one, Answer(A, "a", (series(2**29, revision="v1"), series(2**20, revision="v2")))))
    assert {"v1", "512 MiB", "v2", "1 MiB"} <= set(said)


def test_a_table_merges_the_values_of_one_set_of_labels_into_a_row():
    columns = (
        Column(label="revision", title="Revision"),
        Column(label="Value #A", title="Requests", unit="count", decimals=0),
        Column(label="Value #B", title="Enough?", words=((1.0, "yes", "green"),)),
    )
    one = panel(kind="table", unit="text", queries=(A, B), columns=columns)
    svg = drawn(
        one,
        Answer(A, "a", (series(120.4, revision="v1"), series(7, revision="v2"))),
        Answer(B, "b", (series(1, revision="v1"),)),
    )
    said = words(svg)
    assert {"Revision", "Requests", "Enough?", "v1", "120", "yes", "v2", "7"} <= set(said)
    assert said.count("v1") == 1


def test_a_table_that_is_too_long_says_how_many_rows_are_missing():
    one = panel(kind="table", unit="text", height=6)
    many = tuple(series(1, revision=f"v{index:02}") for index in range(40))
    said = words(drawn(one, Answer(A, "a", many)))
    (rest,) = [text for text in said if text.startswith("and ")]
    shown = sum(text.startswith("v") for text in said)
    assert rest == f"and {40 - shown} more rows"


def test_states_are_named_by_their_words():
    one = panel(kind="state", unit="text", words=((1.0, "up", "green"), (0.0, "down", "red")))
    svg = drawn(one, Answer(A, "a", (series(1, 1, 0, 1, revision="engine-0"),)))
    assert {"engine-0", "up", "down"} <= set(words(svg))


@pytest.mark.parametrize(
    ("changes", "answers", "said"),
    [
        ({}, [Answer(A, "a")], "No data"),
        ({"empty": "No alert fires"}, [Answer(A, "a")], "No alert fires"),
        ({"optional": "only with speculation"}, [Answer(A, "a")], "Not in use: only with speculation"),
        ({}, [Answer(A, "a", error="parse error")], "Cannot be evaluated: parse error"),
    ],
)
def test_where_there_is_nothing_to_draw_it_says_why(changes, answers, said):
    assert nothing(panel(**changes), answers)[0] == said
    assert said in " ".join(words(drawn(panel(**changes, width=24), *answers)))


def test_every_kind_that_a_board_uses_can_be_drawn():
    assert {one.kind for board in BOARDS for one in board.panels()} <= {*PAINTERS, "table"}


def test_dollars_and_labels_begin_no_formula():
    one = panel(unit="dollars", title="$ per $1", kind="stat")
    assert {"$ per $1", "$1.5"} <= set(words(drawn(one, Answer(A, "a", (series(1.5, revision="v1"),)))))


def test_a_page_is_1440_pixels_wide_as_png():
    made = Board(uid="u", title="T", help="h", rows=(), variables=())
    png = draw_board(made, Seen("http://p", SPAN, 5.0, {}, {})).png()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == 1440


def test_a_logarithmic_axis_has_whole_powers_of_ten_around_what_is_drawn():
    one = panel(unit="dollars", logarithmic=True)
    said = words(drawn(one, Answer(A, "a", (series(3.0, 1700.0, 0.0, revision="v1"),))))
    assert [text for text in said if text.startswith("$")] == ["$1", "$10", "$100", "$1 k", "$10 k"]


def test_an_axis_of_whole_things_has_whole_marks():
    said = words(
        drawn(panel(unit="requests", lowest=0, decimals=0), Answer(A, "a", (series(0, 1, 2, revision="v1"),)))
    )
    assert [text for text in said if text.replace(".", "").isdigit()] == ["0", "1", "2"]
