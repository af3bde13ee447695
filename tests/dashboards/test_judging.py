"""The verdict on a panel, from answers whose truth is plain."""

from __future__ import annotations

import math

import pytest

from dashboards.judging import Answer, judge
from dashboards.panels import Panel, Query
from dashboards.samples import Point, Series

HITS = 'rate(vllm:prefix_cache_hits_total{deployment="d"}[20s]) / rate(teapot_x_bucket[20s])'
THERE = ("vllm:prefix_cache_hits_total", "teapot_x_bucket", "up")


def panel(**changes) -> Panel:
    settings = {"key": "hits", "title": "Hits", "kind": "timeseries", "unit": "ratio", "help": "What hits."}
    return Panel(**{**settings, "queries": (Query(expr=HITS),), **changes})


def answer(*values: float | None, error: str | None = None) -> Answer:
    points = tuple(Point(float(at), value) for at, value in enumerate(values))
    return Answer(Query(expr=HITS), HITS, (Series({"a": "b"}, points),) if values else (), error)


def test_a_panel_with_numbers_is_alive_and_tells_their_range():
    verdict = judge(panel(), [answer(0.25, None, 0.75)], THERE)
    assert (verdict.status, verdict.lowest, verdict.highest, verdict.good) == ("alive", 0.25, 0.75, True)


@pytest.mark.parametrize("values", [(), (None, None), (math.inf,)], ids=["none", "nan", "inf"])
def test_a_panel_without_a_number_is_dead(values):
    verdict = judge(panel(), [answer(*values)], THERE)
    assert (verdict.status, verdict.good) == ("dead", False)
    assert verdict.expression == HITS


def test_one_dead_query_among_others_kills_the_panel():
    assert judge(panel(), [answer(0.5), answer()], THERE).status == "dead"


def test_a_dead_panel_names_the_metrics_that_are_not_there():
    assert judge(panel(), [answer()], ["up"]).detail == (
        "there is no teapot_x_bucket, vllm:prefix_cache_hits_total"
    )


def test_an_optional_panel_without_its_metrics_is_not_in_use_and_passes():
    verdict = judge(panel(optional="only with prefix caching"), [answer()], ["up"])
    assert (verdict.status, verdict.good, verdict.detail) == ("not in use", True, "only with prefix caching")


def test_a_part_that_is_optional_may_be_missing_from_a_panel_that_is_alive():
    parts = (Query(expr=HITS), Query(expr="vllm:x", optional="only with an objective"))
    answers = [answer(0.5), Answer(parts[1], "vllm:x")]
    verdict = judge(panel(queries=parts), answers, THERE)
    assert (verdict.status, verdict.detail) == ("alive", "only with an objective")
    assert judge(panel(queries=parts), [answer(), answers[1]], THERE).status == "dead"


def test_an_optional_panel_whose_metrics_are_there_is_only_idle():
    verdict = judge(panel(optional="only with prefix caching"), [answer()], THERE)
    assert (verdict.status, verdict.good) == ("idle", True)


def test_a_query_that_cannot_be_evaluated_breaks_even_an_optional_panel():
    verdict = judge(panel(optional="only sometimes"), [answer(0.5), answer(error="parse error")], THERE)
    assert (verdict.status, verdict.detail, verdict.good) == ("broken", "parse error", False)


@pytest.mark.parametrize(
    ("unit", "value"), [("ratio", 97.0), ("seconds", 25_000), ("tokens", -1), ("seconds", -0.1)]
)
def test_a_number_that_its_unit_cannot_have_is_implausible(unit, value):
    verdict = judge(panel(unit=unit), [answer(0.5, value)], THERE)
    assert (verdict.status, verdict.good) == ("implausible", False)
    assert unit in verdict.detail


@pytest.mark.parametrize("value", [0.0, 1.0, 1.0000000001, -1e-12])
def test_a_ratio_may_be_off_by_rounding(value):
    assert judge(panel(), [answer(value)], THERE).status == "alive"


def test_a_budget_that_may_be_overdrawn_says_so_by_its_lowest():
    assert judge(panel(lowest=-1), [answer(-0.5)], THERE).status == "alive"


def test_a_state_without_a_word_is_implausible():
    states = panel(unit="text", words=((1.0, "in effect", "green"), (0.0, "NOT in effect", "red")))
    assert judge(states, [answer(1.0, 0.0)], THERE).status == "alive"
    verdict = judge(states, [answer(2.0)], THERE)
    assert (verdict.status, verdict.detail) == ("implausible", "2 has no word (there are 0, 1)")


def test_an_optional_query_without_data_leaves_its_panel_alive():
    unasked = Answer(Query(expr="teapot_goal", optional="only with an objective"), "teapot_goal")
    assert judge(panel(), [answer(0.5), unasked], THERE).status == "alive"


def test_a_panel_of_which_only_optional_queries_could_answer_is_not_in_use():
    unasked = Answer(Query(expr="teapot_goal", optional="only with an objective"), "teapot_goal")
    verdict = judge(panel(), [unasked], THERE)
    assert (verdict.status, verdict.detail) == ("not in use", "only with an objective")
