"""An alert as a rule file has it."""

from __future__ import annotations

from dashboards.alert import Alert, both

ALERT = Alert(
    name="TeapotCold", expr="temperature < 90", severity="warning", summary="It is cold.", advice="Heat it."
)


def test_a_rule_has_all_that_prometheus_and_a_reader_need() -> None:
    assert ALERT.rule() == {
        "alert": "TeapotCold",
        "expr": "temperature < 90",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "It is cold.",
            "description": "Heat it.",
            "runbook_url": "docs/alerts.md#teapotcold",
        },
    }


def test_patience_and_labels_of_its_own_are_there_where_it_has_them() -> None:
    alert = Alert(
        name="A",
        expr="up == 0",
        severity="critical",
        summary="",
        advice="",
        hold="5m",
        labels={"window": "1h"},
    )
    assert alert.rule()["for"] == "5m"
    assert alert.rule()["labels"] == {"severity": "critical", "window": "1h"}


def test_conditions_are_joined_line_by_line() -> None:
    assert both("a > 1", "b > 2") == "a > 1\nand b > 2"
