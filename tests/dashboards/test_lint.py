"""Every check fails on a board that has its mistake, and ours have none."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.exposed import GENERATED, catalogue

from dashboards.lint import CHECKS, problems, problems_together

Board = dict[str, Any]
GOOD: Board = json.loads(Path(GENERATED, "boards/teapot-engine.json").read_text(encoding="utf-8"))


def first_panel(board: Board) -> dict[str, Any]:
    found: dict[str, Any] = next(panel for panel in board["panels"] if panel["type"] != "row")
    return found


def asks(expression: str, **target: str) -> Callable[[Board], None]:
    return lambda board: first_panel(board)["targets"][0].update(expr=expression, **target)


def with_unit(unit: str | None) -> Callable[[Board], None]:
    return lambda board: first_panel(board)["fieldConfig"]["defaults"].update(unit=unit)


def set_(**values: Any) -> Callable[[Board], None]:
    return lambda board: board.update(values)


def only_means(board: Board) -> None:
    board["panels"] = [first_panel(board)]
    name = "vllm:request_queue_time_seconds"
    asks(f"sum (rate({name}_sum[$__rate_interval])) / sum (rate({name}_count[$__rate_interval]))")(board)


def unused_variable(board: Board) -> None:
    board["templating"]["list"].append({"name": "zone", "type": "textbox"})


def on_each_other(board: Board) -> None:
    board["panels"][2]["gridPos"] = board["panels"][1]["gridPos"]


def reads(query: str) -> Callable[[Board], None]:
    def spoil(board: Board) -> None:
        choice = next(one for one in board["templating"]["list"] if one["name"] == "revision")
        choice["query"] = {"query": query}

    return spoil


WAIT = "vllm:request_queue_time_seconds"
BAD: dict[str, tuple[Callable[[Board], None], str]] = {
    "milliseconds over seconds": (with_unit("ms"), "metrics are seconds"),
    "percent over a ratio": (with_unit("percent"), "0 to 1"),
    "no unit": (with_unit(None), "has no unit"),
    "a variable that no query uses": (unused_variable, "'zone' is used by no query"),
    "a variable that is not there": (asks('up{instance="$host"}'), "$host is no variable"),
    "a choice of what is not there": (reads("label_values(vllm:gpu_use{}, revision)"), "not exposed"),
    "a choice of one that is not there": (reads('label_values({__name__=~"up|gone"}, role)'), "gone is not"),
    "a choice by a label that is not there": (reads("label_values(up, pod)"), "up has no label 'pod'"),
    "queue time as the rate of a sum": (
        asks(f"sum (rate({WAIT}_sum[$__rate_interval]))"),
        "alone is no time",
    ),
    "$__interval": (asks("sum (rate(vllm:num_preemptions_total[$__interval]))"), "use $__rate_interval"),
    "a fixed window": (asks("sum (rate(vllm:num_preemptions_total[10s]))"), "over 0:00:10 fixed"),
    "a fixed long window of a rate": (asks("sum (rate(vllm:num_preemptions_total[1h]))"), "fixed"),
    "a quantile without le": (
        asks(f"histogram_quantile(0.9, rate({WAIT}_bucket[$__rate_interval]))"),
        "wants `sum by (le)`",
    ),
    "an average of quantiles": (
        asks(f"avg(histogram_quantile(0.9, sum by (le, role) (rate({WAIT}_bucket[$__rate_interval]))))"),
        "no quantile",
    ),
    "a dead metric": (asks("max (vllm:gpu_cache_usage_perc)"), "not exposed"),
    "a bare counter": (asks("sum (rate(vllm:num_preemptions[$__rate_interval]))"), "did you mean"),
    "a label that is not there": (asks("sum by (pod) (vllm:num_requests_running)"), "`sum by (pod)`"),
    "a legend that is not there": (asks("sum (up)", legendFormat="{{pod}}"), "{{pod}} is no label"),
    "several series of one name": (asks("sum by (role) (up)", legendFormat="up"), "one name; show role"),
    "a fixed data source": (lambda b: first_panel(b).update(datasource={"uid": "P1809F7"}), "is fixed"),
    "a data source fixed in a query": (asks("sum (up)", datasource={"uid": "prom"}), "is fixed"),
    "a time range that stands still": (set_(time={"from": "2024-01-01", "to": "now"}), "stands still"),
    "a uid of everybody's": (set_(uid="vllm"), "somebody else's"),
    "a schema that Grafana 11 does not read": (set_(schemaVersion=43), "at most 42"),
    "averages only": (only_means, "no quantile; add p50"),
    "nothing to do": (lambda b: first_panel(b).update(description="Requests."), "say what to do"),
    "panels on each other": (on_each_other, "lies on"),
    "a panel too wide": (lambda b: first_panel(b)["gridPos"].update(w=25), "wider than the grid"),
    "one id twice": (lambda b: first_panel(b).update(id=b["panels"][0]["id"]), "id of their own"),
    "one refId twice": (
        lambda b: first_panel(b)["targets"][1].update(refId="A"),
        "refId of their own",
    ),
    "no marks of what changed": (set_(annotations={"list": []}), "shows no annotations"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_a_board_with_a_mistake_is_told_of_it(name: str) -> None:
    board = copy.deepcopy(GOOD)
    spoil, expected = BAD[name]
    spoil(board)
    said = list(problems(board, catalogue()))
    assert any(expected in problem for problem in said), said


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_check_can_fail(check: Callable[..., Any]) -> None:
    found = []
    for spoil, _ in BAD.values():
        board = copy.deepcopy(GOOD)
        spoil(board)
        found += list(check(board, catalogue()))
    assert found


def boards() -> list[Board]:
    files = sorted(Path(GENERATED, "boards").glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


@pytest.mark.slow
@pytest.mark.parametrize("board", boards(), ids=lambda board: board["uid"])
def test_our_boards_have_no_mistake_we_know(board: Board) -> None:
    assert list(problems(board, catalogue())) == []


def test_our_boards_have_uids_and_titles_of_their_own_and_link_to_each_other() -> None:
    assert list(problems_together(boards())) == []


def test_a_panel_of_text_asks_nothing_and_needs_no_data_source() -> None:
    board = copy.deepcopy(GOOD)
    first_panel(board).update(type="text", targets=[], datasource=None)
    assert not any("is fixed" in problem for problem in problems(board, catalogue()))


def test_two_boards_of_one_uid_and_missing_links_are_told() -> None:
    said = list(problems_together([{"uid": "a", "title": "A"}, {"uid": "a", "title": "B"}]))
    assert "a: two boards have this uid; give each its own" in said
    assert "a: has no link to a; add one" in said
