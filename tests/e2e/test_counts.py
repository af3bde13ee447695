"""The record that plans are held to is what vLLM's and transformers' own classes say, without weights.

`tests/serving/planner/test_plan_counted.py` holds plans to the record. To write it anew, for another version
of vLLM or with more cases: `PYTHON tests/e2e/count_model.py < RECORD > NEW`, by the environment's Python.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from serving.engine.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

TESTS = Path(__file__).parents[1]
RECORD = TESTS / "golden" / "engine_counts.json"


def test_the_record_is_what_the_engines_own_classes_say(environment: Environment) -> None:
    recorded = json.loads(RECORD.read_text("utf-8"))
    asked = {
        "models": recorded["models"],
        "cases": [
            {key: value for key, value in case.items() if key not in ("stages", "answers")}
            for case in recorded["cases"]
        ],
    }
    ran = subprocess.run(
        [environment.python, TESTS / "e2e" / "count_model.py"], input=json.dumps(asked),
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    said = json.loads(ran.stdout)
    assert said["counts"] == recorded["counts"]
    assert said["slots"] == recorded["slots"]
    assert said["cases"] == recorded["cases"]
