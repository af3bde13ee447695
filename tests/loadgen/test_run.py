from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.run import run_load
from loadgen.run_folder import RunFolder
from loadgen.workload import Workload
from serving.console import Console
from serving.errors import Failed

Make = Callable[..., Workload]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def test_a_run_goes_from_workload_to_report(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    err = io.StringIO()
    result = run_load(
        workload=workload(warmup={"requests": 2}),
        target=engine.url,
        out=run_dir,
        metrics_urls=[f"{engine.url}/metrics"],
        console=Console(err=err),
    )
    assert result.exit_code == (0 if result.summary["valid"] else 3)
    assert result.summary["requests"] | {"undefined_tpot": 0} == {
        "intended": 6,
        "sent": 6,
        "ok": 6,
        "failed": 0,
        "cut": 0,
        "undefined_tpot": 0,
        "warmup": 2,
    }
    assert result.summary["server"]["requests"] == 6
    names = {file.name for file in run_dir.iterdir()}
    assert names >= {
        "manifest.json",
        "timetable.jsonl",
        "records.jsonl",
        "server.jsonl",
        "summary.json",
        "report.html",
    }
    assert "8 requests prepared" in err.getvalue()


def test_an_engine_that_dies_in_mid_run_ends_it_orderly(workload: Make, run_dir: Path) -> None:
    arrival = {"process": "constant", "rate": "20/s", "requests": 12}
    # The probe is request 1, so the fifth of the run brings the engine down.
    with ScriptedEngine.start("--die-on-request", "6") as mortal:
        result = run_load(
            workload=workload(arrival=arrival),
            target=mortal.url,
            out=run_dir,
            console=Console(err=io.StringIO()),
        )
    requests = result.summary["requests"]
    assert (requests["sent"], requests["ok"] + requests["failed"]) == (12, 12)
    assert requests["failed"] >= 8
    assert not result.summary["valid"]
    assert "the target was gone before the run had ended" in result.summary["reasons"]
    assert result.exit_code == 3
    assert len(RunFolder(run_dir).records()) == 12


def test_a_target_that_is_down_leaves_no_folder(workload: Make, run_dir: Path) -> None:
    with ScriptedEngine.start() as gone:
        pass
    with pytest.raises(Failed, match="nothing answers"):
        run_load(workload=workload(), target=gone.url, out=run_dir, console=Console(err=io.StringIO()))
    assert not run_dir.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_drains_summarizes_and_leaves_nothing_running(
    engine: ScriptedEngine, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    (tmp_path / "w.yaml").write_text(
        "name: small\narrival: {process: constant, rate: 1/min, requests: 3}\n"
        "prompts: {kind: random_tokens, input_tokens: 24, output_tokens: 4}\n"
    )
    main = "import sys; from deploy.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", main, "load", "run", str(tmp_path / "w.yaml")]
    process = subprocess.Popen(
        [*command, "--target", engine.url, "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ,
    )
    records = tmp_path / "run" / "records.jsonl"
    deadline = time.monotonic() + 30
    while not (records.exists() and records.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "the run was interrupted" in " ".join(out.split())
    assert (tmp_path / "run" / "summary.json").exists()
