from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from serving.engine.commands import run

PY = sys.executable


def test_lines_are_heard_and_kept_and_both_streams_are_one() -> None:
    heard: list[str] = []
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    ran = run([PY, "-c", code], on_line=heard.append)
    assert (ran.code, list(ran.lines)) == (3, ["out", "err"])
    assert heard == ["out", "err"]


def test_a_program_that_is_not_there_is_code_127() -> None:
    ran = run(["/no/such/program"])
    assert ran.code == 127
    assert "No such file" in ran.lines[0]


def test_the_environment_is_added_to_ours() -> None:
    code = "import os; print(os.environ['TEAPOT_TEST'], 'PATH' in os.environ)"
    assert run([PY, "-c", code], environment={"TEAPOT_TEST": "yes"}).lines == ["yes True"]


def test_what_interrupts_us_ends_the_child_and_its_children(tmp_path: Path) -> None:
    child = (
        "import os, subprocess, sys, time\n"
        "g = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(os.getpid(), g.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.extend(map(int, line.split()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([PY, "-c", child], on_line=interrupt)
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state not in "ZX"
