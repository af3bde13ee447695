from __future__ import annotations

from dashboards.judging import Answer
from dashboards.panels import Column, Panel, Query
from dashboards.preview.lines import COLORS, TEXT
from dashboards.preview.tables import Row, cell, rows
from dashboards.samples import Point, Series

PANEL = Panel(key="k", title="T", kind="table", unit="seconds", queries=(), help="h", decimals=2)


def answer(*pairs: tuple[str, float | None]) -> Answer:
    query = Query(expr="x", instant=True)
    return Answer(query, "x", tuple(Series({"what": what}, (Point(0.0, value),)) for what, value in pairs))


def test_queries_are_merged_by_their_labels_into_rows():
    found = rows([answer(("a", 1.0), ("b", 2.0)), answer(("b", 20.0), ("c", None))])
    assert [(row.labels["what"], row.values) for row in found] == [
        ("a", {"Value #A": 1.0}), ("b", {"Value #A": 2.0, "Value #B": 20.0}),
    ]  # fmt: skip


def test_the_value_of_a_single_query_has_no_letter():
    assert rows([answer(("a", 1.0))])[0].values == {"Value": 1.0}


def test_a_cell_is_a_label_a_number_a_word_or_empty():
    row = Row({"what": "TTFT"}, {"Value #A": 0.5, "Value #B": 1.0, "Value #C": 12.0})
    words = Column(label="Value #B", title="Enough?", words=((1.0, "enough", "green"),))
    assert cell(Column(label="what", title="What"), PANEL, row) == ("TTFT", TEXT)
    assert cell(Column(label="Value #A", title="Baseline"), PANEL, row) == ("500.00 ms", TEXT)
    assert cell(Column(label="Value #C", title="n", unit="count", decimals=0), PANEL, row) == ("12", TEXT)
    assert cell(words, PANEL, row) == ("enough", COLORS["green"])
    assert cell(Column(label="Value #D", title="none"), PANEL, row) == ("", TEXT)
