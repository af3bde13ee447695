"""Every alert fires, stays silent, and does not take no data for news; words and values by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from fakes.alert_cases import CASES, Case
from fakes.promtool import ALERTS as FILE
from fakes.promtool import Fired, alerts_fire, check_rules, needs_promtool

from dashboards.alerts import ALERTS, alerts_text
from dashboards.boards import BOARDS
from dashboards.burns import burn_alerts
from dashboards.rules import RECORDINGS
from serving.facts.load import engine_metrics, own_metrics

RUNBOOK = Path(__file__).parents[2] / "docs" / "alerts.md"
BURNS = {alert.name for alert in burn_alerts()}
"""These are held in test_burns.py."""
OTHERS = {alert.name: alert for alert in ALERTS if alert.name not in BURNS}
FIRES_WITHOUT_DATA = "TeapotNothingWatched"
"""Its condition is that there is nothing."""


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.says}")
def test_alert(case: Case) -> None:
    alert = OTHERS[case.alert]
    told = {"description": alert.advice, "runbook_url": alert.runbook}
    fired = [Fired({**labels}, {"summary": summary, **told}) for summary, labels in case.fires.items()]
    alerts_fire(case.alert, case.samples, case.at, fired)


def test_every_alert_has_a_case_in_which_it_fires_one_in_which_it_does_not_and_one_without_data() -> None:
    for name in OTHERS:
        cases = [case for case in CASES if case.alert == name]
        assert any(case.fires for case in cases), name
        assert any(not case.fires and case.samples for case in cases), name
        (empty,) = (case for case in cases if not case.samples)
        assert bool(empty.fires) == (name == FIRES_WITHOUT_DATA)
    assert {case.alert for case in CASES} == set(OTHERS)


@needs_promtool
def test_prometheus_takes_the_committed_file() -> None:
    check_rules(FILE)


def test_the_committed_file_holds_every_alert_in_order() -> None:
    groups = yaml.safe_load(alerts_text())["groups"]
    assert [rule["alert"] for group in groups for rule in group["rules"]] == [alert.name for alert in ALERTS]


def test_two_alerts_of_a_name_differ_in_severity() -> None:
    kinds = [(alert.name, alert.severity) for alert in ALERTS]
    assert len(kinds) == len(set(kinds))


def test_every_series_of_an_alert_exists() -> None:
    known = {"up", *(rule.record for rule in RECORDINGS)}
    for metric in (*engine_metrics().values(), *own_metrics().values()):
        parts = ("_bucket", "_sum", "_count") if metric.type == "histogram" else ("",)
        known |= {metric.name + part for part in parts}
    for alert in ALERTS:
        used = re.findall(r"\bup\b|(?:vllm|deployment_slo):[\w:]+|\bteapot_\w+", alert.expr)
        assert set(used) <= known, alert.name
        assert used, alert.name


def test_a_summary_names_the_deployment() -> None:
    for alert in ALERTS:
        assert "$labels.deployment" in alert.summary or alert.name == FIRES_WITHOUT_DATA


def test_advice_is_the_same_for_all_so_that_equal_alerts_can_be_grouped() -> None:
    for alert in ALERTS:
        assert "{{" not in alert.advice


def test_the_runbook_has_a_chapter_for_every_alert_and_no_other() -> None:
    headings = re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings == list(dict.fromkeys(alert.name for alert in ALERTS))


def test_every_chapter_says_what_it_means_where_to_look_and_what_to_do() -> None:
    chapters = re.split(r"^#{2,3} ", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for chapter in chapters:
        name = chapter.split("\n", 1)[0]
        if name in {alert.name for alert in ALERTS}:
            for part in ("**Means.** ", "**Look at.** ", "**Do.** "):
                assert chapter.count(part) == 1, f"{name}: {part}"


def test_every_panel_that_the_runbook_names_is_on_its_board() -> None:
    there = {(board.title, panel.title) for board in BOARDS for panel in board.panels()}
    text = " ".join(RUNBOOK.read_text(encoding="utf-8").split())
    named = set(re.findall(r"\*([A-Z]\w+): ([^*]+)\*", text)) - {("Board", "Panel")}
    assert len(named) > 10
    assert named <= there


def test_every_link_leads_to_a_chapter() -> None:
    anchors = {name.lower() for name in re.findall(r"^### (\w+)$", RUNBOOK.read_text(), flags=re.MULTILINE)}
    assert {alert.runbook.partition("#")[2] for alert in ALERTS} == anchors
