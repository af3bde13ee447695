from __future__ import annotations

from dashboards.preview.lines import Line
from dashboards.preview.states import spells


def line(*points: tuple[float, float]) -> Line:
    return Line("n", "#000", "line", points, {})


def test_a_state_lasts_until_the_next_one_begins():
    found = list(spells(line((0, 1), (5, 1), (10, 0), (15, 1)), 5, 20))
    assert found == [(0, 10, 1), (10, 15, 0), (15, 20, 1)]


def test_what_was_not_seen_is_a_hole():
    assert list(spells(line((0, 1), (30, 1)), 5, 40)) == [(0, 5, 1), (30, 35, 1)]
