"""Plain locust in a process of its own: importing it here would patch the tests' process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
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


@pytest.mark.timeout(180)
def test_plain_locust_runs_with_workers(engine: ScriptedEngine, tmp_path: Path) -> None:
    process = locust(engine, tmp_path, "--processes", "2", *own_port())
    said, _ = process.communicate(timeout=120)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert process.returncode == (0 if summary["valid"] else 3), said
    assert summary["requests"]["ok"] == 6
    (row,) = [line for line in said.splitlines() if line.startswith("POST     random")][-2:-1] or [""]
    assert " 6 " in row, said


@pytest.mark.timeout(180)
def test_sigint_with_workers_drains_all_of_them(engine: ScriptedEngine, tmp_path: Path) -> None:
    process = locust(engine, tmp_path, "--processes", "2", *own_port(), rate="1/min")
    deadline = time.monotonic() + 60
    while not any(file.read_text() for file in tmp_path.glob("run/worker-*/records.jsonl")):
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail("no worker wrote a record")
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 130, said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["requests"]["intended"], summary["requests"]["ok"]) == (6, 1)


def test_a_run_without_a_workload_is_wrong_usage() -> None:
    command = [sys.executable, "-m", "locust", "-f", "loadgen/locustfile.py", "--headless"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "give --workload FILE" in done.stderr


def test_ui_and_master_listen_on_loopback_unless_told_otherwise() -> None:
    code = (
        "import loadgen.locustfile, sys; from locust.argument_parser import parse_options;"
        "asked = parse_options(sys.argv[1:]); print(asked.web_host, asked.master_bind_host)"
    )

    def hosts(*arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()[-1]

    assert hosts() == "127.0.0.1 127.0.0.1"
    assert hosts("--web-host", "10.0.0.1", "--master-bind-host", "*") == "10.0.0.1 *"


def own_port() -> tuple[str, ...]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = str(bound.getsockname()[1])
    return ("--master-bind-host", "127.0.0.1", "--master-bind-port", port, "--master-port", port)


@pytest.mark.timeout(180)
def test_the_web_ui_has_a_tab_and_a_page_of_live_figures(engine: ScriptedEngine, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD.replace("RATE", "40/s"))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    command = [sys.executable, "-m", "locust", "-f", "loadgen/locustfile.py", "-H", engine.url]
    command += ["--workload", str(tmp_path / "w.yaml"), "--out", str(tmp_path / "run")]
    command += ["--web-host", "127.0.0.1", "--web-port", str(port), "--exporter-port", "off"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)
    try:
        page = patiently(port, "/")
        assert "TTFT / TPOT / ITL / goodput" in page
        assert "live charts" in page
        press_start(port, (tmp_path / "run" / "report.html").exists)
        (table,) = json.loads(get(port, "/stats/requests"))["extended_stats"]
        assert [(row["name"], row["ok"]) for row in table["data"]] == [("random", 6), ("all", 6)]
        live = json.loads(get(port, "/teapot/live"))
        assert live["now"]["ok"] == 6
        assert live["charts"][-1]["in_flight"] == 0
        assert "CHARTS" in get(port, "/teapot/")
        # The button is there to be pressed again, and what goes wrong is said where it is.
        press_start(port, (tmp_path / "run-2" / "report.html").exists)
        (tmp_path / "w.yaml").unlink()
        press_start(port, lambda: exceptions(port))
        (told,) = exceptions(port)
        assert "w.yaml" in told
    finally:
        process.terminate()
        process.communicate(timeout=30)


def press_start(port: int, until: Callable[[], object]) -> None:
    """Start a run in the UI, and wait for what it is to bring and for the UI to be ready for the next."""
    get(port, "/swarm", b"user_count=1&spawn_rate=1")
    deadline = time.monotonic() + 60
    while not until() or json.loads(get(port, "/stats/requests"))["state"] != "stopped":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def exceptions(port: int) -> list[str]:
    """What the UI shows as gone wrong."""
    return [each["msg"] for each in json.loads(get(port, "/exceptions"))["exceptions"]]


def get(port: int, path: str, body: bytes | None = None) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("GET" if body is None else "POST", path, body, kind if body else {})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def patiently(port: int, path: str) -> str:
    deadline = time.monotonic() + 60
    while True:
        try:
            return get(port, path)
        except ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
