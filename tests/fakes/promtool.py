"""Prometheus' own judge of rules: expressions, rule files, and alerts over made-up samples.

Owns: how promtool is asked. What is expected is the tests' to say, by hand.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian's package prometheus has it)"
)
GENERATED = Path(__file__).parents[2] / "dashboards" / "generated"
RULES, ALERTS = GENERATED / "rules.yaml", GENERATED / "alerts.yaml"


@dataclass(frozen=True)
class Fired:
    """One alert that is to fire: all its labels but `alertname`, and its annotations."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def check_rules(*files: Path) -> None:
    """Fail with what promtool says if a rule file is not right."""
    _run("check", "rules", *map(str, files))


def alerts_fire(
    alert: str,
    samples: Mapping[str, str],
    at: str,
    fired: Iterable[Fired],
    *,
    apart: str = "1m",
    evaluated: str = "1m",
) -> None:
    """Hold what fires at a time against what is expected. `samples`: so far apart, as promtool writes them.

    Only the committed rules of this alert are evaluated, and the recording rules if it uses any: all of them
    would cost several times as much.
    """
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"] if rule["alert"] == alert]
    assert rules, f"there is no alert {alert}"
    recorded = any("deployment_slo:" in rule["expr"] for rule in rules)
    expected = [{"exp_labels": dict(f.labels), "exp_annotations": dict(f.annotations)} for f in fired]
    question = {"alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": expected}]}
    with tempfile.TemporaryDirectory() as folder:
        only = Path(folder, "only.yaml")
        only.write_text(json.dumps({"groups": [{"name": "only", "rules": rules}]}))
        _unit_test([RULES, only] if recorded else [only], samples, question, apart, evaluated)


def queries_give(
    samples: Mapping[str, str], at: str, expected: Mapping[str, Sequence[tuple[str, float]]]
) -> None:
    """Hold what queries over the recording rules give against what is expected: by query, (labels, value)."""
    tests = [
        {
            "expr": expression,
            "eval_time": at,
            "exp_samples": [{"labels": labels, "value": value} for labels, value in given],
        }
        for expression, given in expected.items()
    ]
    _unit_test([RULES], samples, {"promql_expr_test": tests})


def _groups(file: Path) -> list[str]:
    return [group["name"] for group in yaml.safe_load(file.read_text())["groups"]]


def _unit_test(
    files: Sequence[Path],
    samples: Mapping[str, str],
    question: Mapping[str, object],
    apart: str = "1m",
    evaluated: str = "1m",
) -> None:
    series = [{"series": name, "values": values} for name, values in samples.items()]
    document = {
        "rule_files": [str(file) for file in files],
        "evaluation_interval": evaluated,
        # Else promtool takes groups in any order, and what is recorded may come a turn too late.
        "group_eval_order": [name for file in files for name in _groups(file)],
        "tests": [{"interval": apart, "input_series": series, **question}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(json.dumps(document))
        file.flush()
        _run("test", "rules", file.name)


def _run(*arguments: str) -> None:
    assert PROMTOOL is not None, "mark the test with needs_promtool"
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.fail(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}", pytrace=False)
