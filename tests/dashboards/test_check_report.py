from __future__ import annotations

import json

from dashboards.agreement import Comparison
from dashboards.check_report import BoardReport, Report, document, summary, table, text
from dashboards.judging import Verdict
from dashboards.samples import Target
from dashboards.steps import Span

ALIVE = Verdict("a", "TTFT", "alive", lowest=0.0125, highest=0.5)
UNUSED = Verdict("b", "Drafts", "not in use", "only with speculation", "vllm:x")
DEAD = Verdict("c", "Queue", "dead", "no series, although its metrics are there", "vllm:queue")
TARGETS = (
    Target("engine", {}, "http://e/metrics", True, None, 5.0),
    Target("load", {}, "http://l/metrics", False, "connection refused", 5.0),
)


def report(*verdicts: Verdict, comparisons: tuple[Comparison, ...] = ()) -> Report:
    board = BoardReport("teapot-x", "X", {"deployment": "demo"}, verdicts)
    return Report("http://p", Span(0, 300, 5), TARGETS, (board,), comparisons)


def test_a_report_is_good_while_nothing_is_dead_and_nothing_differs():
    agree, differ = (Comparison("TTFT mean", "gateway", "0.1 s", "0.1 s", agrees) for agrees in (True, False))
    nothing = Comparison("TTFT mean", "load generator", "0.1 s", "none", None)
    assert report(ALIVE, UNUSED, comparisons=(agree, nothing)).good
    assert not report(ALIVE, DEAD).good
    assert not report(ALIVE, comparisons=(differ,)).good


def test_the_text_shows_every_panel_and_names_the_query_that_is_dead():
    shown = text(report(ALIVE, UNUSED, DEAD)).splitlines()
    assert shown[:2] == [
        "http://p: 1 of 2 targets up", "  down: load http://l/metrics (connection refused)",
    ]  # fmt: skip
    assert "TTFT    alive       0.0125 .. 0.5" in shown
    assert "Drafts  not in use                 only with speculation" in shown
    assert "X / Queue: dead: no series, although its metrics are there" in shown
    assert "  vllm:queue" in shown
    assert shown[-1] == "3 panels of 1 boards: 1 alive, 1 not in use, 1 dead"


def test_what_was_compared_with_a_run_is_counted():
    found = (Comparison("TTFT mean", "gateway", "0.1 s", "150 s", False),)
    assert summary(report(ALIVE, comparisons=found)).endswith("against the run 0 agree, 1 differ")
    assert "TTFT mean        gateway  0.1 s   150 s       DIFFER" in text(report(ALIVE, comparisons=found))


def test_the_document_says_of_each_panel_whether_it_passes():
    told = json.loads(json.dumps(document(report(ALIVE, DEAD))))
    assert told["good"] is False
    assert [(v["panel"], v["status"], v["good"]) for v in told["boards"][0]["verdicts"]] == [
        ("a", "alive", True), ("c", "dead", False),
    ]  # fmt: skip


def test_columns_are_as_wide_as_what_is_in_them():
    assert table(("A", "B"), [("long", "x"), ("s", "")]) == "A     B\nlong  x\ns"
