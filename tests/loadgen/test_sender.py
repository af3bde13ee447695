from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.live_view import View
from loadgen.prepare import Request, prepare
from loadgen.run_folder import RunFolder
from loadgen.sender import Sender, last_words
from loadgen.stats.definitions import ttft_s
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.errors import Failed

Make = Callable[..., Workload]
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def folder_for(engine: ScriptedEngine, workload: Workload, out: Path) -> RunFolder:
    return prepare(Request(workload, parse_target(engine.url), out), say=lambda _: None)


def test_the_child_sends_the_folder_and_its_progress_is_told(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 1}), run_dir)
    seen: list[View] = []
    sender = Sender(folder, api_key=None, exporter_port="off")
    assert sender.wait(stopped=lambda: False, progress=seen.append)
    assert (seen[-1]["warmup"], seen[-1]["ok"], seen[-1]["in_flight"]) == (1, 6, 0)
    assert len(folder.records()) == 7


@pytest.mark.timeout(180)
@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_send_the_same_schedule_and_add_up(
    engine: ScriptedEngine, workload: Make, run_dir: Path, processes: int
) -> None:
    arrival = {"process": "poisson", "rate": "40/s", "requests": 40}
    one = folder_for(engine, workload(arrival=arrival), run_dir / "one")
    several = folder_for(engine, workload(arrival=arrival, warmup={"requests": 4}), run_dir / "several")
    for folder, number in ((one, 1), (several, processes)):
        sender = Sender(folder, api_key=None, processes=number, exporter_port="off")
        assert sender.wait(stopped=lambda: False, progress=lambda _: None), folder.log_path.read_text()
    planned = {line.index: line.t_intended_ns for line in several.timetable() if line.phase == "measure"}
    assert list(planned.values()) == [line.t_intended_ns for line in one.timetable()]
    account, measured = several.account(), [r for r in several.records() if r.phase == "measure"]
    assert account is not None
    assert (account.ended, account.workers, account.sent) == ("complete", processes, 44)
    assert {r.index: (r.t_intended_ns or 0) - account.measure_start_ns for r in measured} == planned
    assert len({record.worker for record in measured}) == processes
    # The live figures went by the workers' histograms, the expected ones are the records' own.
    live = several.live()
    assert live is not None
    exact = sorted(value for record in measured if (value := ttft_s(record)) is not None)
    assert (live["ok"], live["ttft_s"]["n"]) == (40, 40)
    assert live["ttft_s"]["mean"] == pytest.approx(fmean(exact))
    assert live["ttft_s"]["max"] == pytest.approx(exact[-1])
    assert live["ttft_s"]["p50"] == pytest.approx(median(exact), rel=0.01)


def test_a_stop_ends_the_child_after_its_drain(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    arrival = {"process": "constant", "rate": "1/min", "requests": 3}
    folder = folder_for(engine, workload(arrival=arrival), run_dir)
    sender = Sender(folder, api_key=None)
    some: list[int] = []
    ended = sender.wait(
        stopped=lambda: bool(some), progress=lambda seen: some.append(1) if seen["ok"] else None
    )
    assert ended is False
    account = folder.account()
    assert account is not None
    assert (account.ended, len(folder.records())) == ("interrupted", 1)


def test_a_child_that_breaks_down_is_told_with_its_last_words_and_its_log(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    (run_dir / "timetable.jsonl").unlink()
    sender = Sender(folder, api_key=None)
    with pytest.raises(Failed, match=r"locust\.log: .*timetable\.jsonl"):
        sender.wait(stopped=lambda: False, progress=lambda _: None)


def test_last_words_are_the_error_and_not_the_table_below_it() -> None:
    log = (
        "[2026-11-29 21:39:48,390] vm/INFO/locust.runners: All users spawned\n"
        "[2026-11-29 21:39:48,390] vm/ERROR/teapot.load: q3/x.jsonl: there is none; make it\n"
        "Type     Name      # reqs\n--------|---------|-------\n"
    )
    assert last_words(log) == "q3/x.jsonl: there is none; make it"
    assert (
        last_words("Traceback (most recent call last):\nImportError: no locust\n") == "ImportError: no locust"
    )
    assert last_words("") == "it said nothing"


def test_the_child_ends_when_its_parent_is_gone(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    arrival = {"process": "constant", "rate": "1/min", "requests": 3}
    folder = folder_for(engine, workload(arrival=arrival), run_dir)
    code = (
        "import sys, time; from pathlib import Path; from loadgen.sender import Sender;"
        "from loadgen.run_folder import RunFolder;"
        "sender = Sender(RunFolder(Path(sys.argv[1])), api_key=None);"
        "print(sender._process.pid, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(run_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        deadline = time.monotonic() + 30
        while not folder.records() and time.monotonic() < deadline:
            time.sleep(0.05)
        parent.kill()
    while folder.account() is None and time.monotonic() < deadline + 30:
        time.sleep(0.05)
    account = folder.account()
    assert account is not None
    assert account.ended == "interrupted"
    while _alive(child) and time.monotonic() < deadline + 30:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")
