"""Rule files with one mistake each, and those that are committed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from fakes.exposed import GENERATED, catalogue

from dashboards.lint_rules import problems, with_recorded

NOTES = {"summary": "s", "description": "d", "runbook_url": "docs/alerts.md#x"}
BURN = "deployment_slo:teapot_slo_requests:burn_rate{}"


def file(**rule: Any) -> dict[str, Any]:
    alert = {"alert": "X", "expr": "up == 0", "labels": {"severity": "warning"}, "annotations": NOTES}
    return {"groups": [{"name": "g", "rules": [alert | rule]}]}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a name that does not exist": (file(expr="rate(vllm:num_preemptions[5m]) > 0"), "did you mean"),
    "a burn rate without factors": (
        file(alert="XBurn", expr=f"{BURN.format('1h')} > 2 and {BURN.format('5m')} > 2"),
        "none of 14.4, 6",
    ),
    "a burn rate over one window": (file(alert="XBurn", expr=f"{BURN.format('1h')} > 14.4"), "one window"),
    "too short a window": (file(expr="rate(vllm:num_preemptions_total[30s]) > 0"), "too few scrapes"),
    "a sum of seconds as a time": (
        file(expr="sum (rate(vllm:request_queue_time_seconds_sum[5m])) > 1"),
        "alone is no time",
    ),
    "no runbook": (file(annotations={"summary": "s", "description": "d"}), "no runbook_url"),
    "no severity": (file(labels={}), "no severity"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_rule_with_a_mistake_is_told_of_it(name: str) -> None:
    document, expected = BAD[name]
    said = list(problems(document, catalogue()))
    assert any(expected in problem for problem in said), said


@pytest.mark.parametrize("name", ["rules", "alerts"])
def test_our_rules_have_no_mistake_we_know(name: str) -> None:
    document = yaml.safe_load((GENERATED / f"{name}.yaml").read_text(encoding="utf-8"))
    assert list(problems(document, catalogue())) == []


def test_a_recorded_series_is_known_with_the_labels_that_its_rule_keeps() -> None:
    recorded = {"record": "role:x:sum", "expr": "sum by (role) (vllm:num_requests_running)"}
    known = with_recorded({"groups": [{"name": "g", "rules": [recorded]}]}, catalogue())
    assert known["role:x:sum"].labels == {"role"}
