"""Plain locust in a process of its own: importing it here would patch the tests' process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.scripted_engine import ScriptedEngine

ROOT = Path(__file__).parents[2]
WORKLOAD = """\
name: small
arrival: {process: constant, rate: RATE, requests: 6}
prompts: {kind: random_tokens, input_tokens: 24, output_tokens: 4}
"""
pytestmark = pytest.mark.slow


def locust(engine: ScriptedEngine, tmp_path: Path, *more: str, rate: str = "40/s") -> subprocess.Popen[str]:
    (tmp_path / "w.yaml").write_text(WORKLOAD.replace("RATE", rate))
    command = [sys.executable, "-m", "locust", "-f", "loadgen/locustfile.py", "--headless"]
    command += ["-H", engine.url, "--workload", str(tmp_path / "w.yaml"), "--out", str(tmp_path / "run")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [*command, *more],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_plain_locust_runs_a_workload_and_feeds_its_own_table(engine: ScriptedEngine, tmp_path: Path) -> None:
    process = locust(engine, tmp_path)
    said, _ = process.communicate(timeout=60)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert process.returncode == (0 if summary["valid"] else 3), said
    assert summary["requests"]["ok"] == 6
    assert (tmp_path / "run" / "report.html").exists()
    (row,) = [line for line in said.splitlines() if line.startswith("POST     random")][-2:-1] or [""]
    assert " 6 " in row, said


def test_sigint_drains_and_concludes_with_what_there_is(engine: ScriptedEngine, tmp_path: Path) -> None:
    process = locust(engine, tmp_path, rate="1/min")
    records = tmp_path / "run" / "records.jsonl"
    deadline = time.monotonic() + 30
    while not (records.exists() and records.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["requests"]["intended"], summary["requests"]["ok"]) == (6, 1)
    assert not summary["valid"]


def test_several_processes_are_refused(engine: ScriptedEngine, tmp_path: Path) -> None:
    process = locust(engine, tmp_path, "--master")
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "not there yet" in said
    assert not (tmp_path / "run").exists()


def test_a_target_that_is_down_is_told_and_is_a_failure(tmp_path: Path) -> None:
    with ScriptedEngine.start() as engine:
        pass
    process = locust(engine, tmp_path)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "nothing answers" in said
