"""A stack here is a process that starts a guardian and engines, and is then killed or ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from serving.engine.guardian import Guardian, stack_processes

GONE_WITHIN_S = 10
STACK = """
import json, os, subprocess, sys, time
from serving.engine.guardian import Guardian

guardian = Guardian("stack-of-test-" + sys.argv[1])
guardian.start()
sleep = "import time; print('up', flush=True); time.sleep(120)"
# Like vLLM's EngineCore: outlives its parent, and its environment cannot be read.
hidden = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}], env={{}}).wait()"
def start(code, **extra):
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True,
                             env={**os.environ, **extra})
    child.stdout.readline()
    return child
engine = start(hidden, **guardian.mark)
guardian.began(engine.pid, sys.argv[2])
marked = start(sleep, **guardian.mark)
stranger = start(sleep)
print(json.dumps({"guardian": guardian.pid, "engine": engine.pid, "marked": marked.pid,
                  "stranger": stranger.pid}), flush=True)
if sys.stdin.readline().startswith("end"):
    guardian.close()
"""


@contextmanager
def stack(name: str, scratch: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    process = subprocess.Popen(
        [sys.executable, "-c", STACK, name, str(scratch)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    pids = json.loads(process.stdout.readline())
    try:
        yield process, pids
    finally:
        process.kill()
        process.communicate()
        for pid in pids.values():
            if alive([pid]):
                os.killpg(pid, signal.SIGKILL)


def alive(pids: Sequence[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def wait_until_gone(*pids: int) -> None:
    until = time.monotonic() + GONE_WITHIN_S
    while alive(pids):
        assert time.monotonic() < until, f"still there: {alive(pids)}"
        time.sleep(0.02)


def in_session(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_a_killed_stack_takes_its_engines_and_their_children_along_and_nothing_else(tmp_path: Path) -> None:
    scratch = tmp_path / "teapot-scratch"
    scratch.mkdir()
    with stack("1", scratch) as (process, pids):
        family = in_session(pids["engine"])
        assert len(family) == 2
        process.kill()
        wait_until_gone(*family, pids["marked"], pids["guardian"])
        assert alive([pids["stranger"]]) == [pids["stranger"]]
        assert not scratch.exists()


@pytest.mark.slow
def test_signals_of_a_terminal_or_a_service_manager_do_not_reach_it(tmp_path: Path) -> None:
    with stack("2", tmp_path) as (process, pids):
        assert in_session(pids["guardian"]) == [pids["guardian"]]
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(pids["guardian"], number)
        process.kill()
        wait_until_gone(pids["engine"], pids["marked"], pids["guardian"])


@pytest.mark.slow
def test_after_an_orderly_end_it_ends_by_itself_and_kills_nothing(tmp_path: Path) -> None:
    with stack("3", tmp_path) as (process, pids):
        assert process.stdin is not None
        process.stdin.write("end\n")
        process.stdin.flush()
        assert process.wait(30) == 0
        wait_until_gone(pids["guardian"])
        assert alive([pids["engine"], pids["marked"]]) == [pids["engine"], pids["marked"]]
        assert tmp_path.is_dir()


def fake_proc(folder: Path, pid: int, *, session: int, state: str = "S", environ: bytes = b"") -> None:
    (folder / str(pid)).mkdir()
    (folder / str(pid) / "stat").write_text(f"{pid} (name) {state} 1 {session} {session} 0 -1")
    (folder / str(pid) / "environ").write_bytes(environ)
    (folder / str(pid) / "cmdline").write_bytes(b"x\0")


def found(folder: Path, *sessions: int) -> list[int]:
    return sorted(process.pid for process in stack_processes("abc", sessions, folder))


def test_a_session_whose_leader_died_is_still_the_engines(tmp_path: Path) -> None:
    fake_proc(tmp_path, 70, session=7)
    assert found(tmp_path, 7) == [70]
    fake_proc(tmp_path, 7, session=7, state="Z")
    assert found(tmp_path, 7) == [70]


def test_a_session_that_another_program_began_under_the_same_number_is_not(tmp_path: Path) -> None:
    fake_proc(tmp_path, 7, session=7, environ=b"HOME=/\0")
    fake_proc(tmp_path, 70, session=7)
    fake_proc(tmp_path, 80, session=8, environ=b"TEAPOT_STACK_ID=abc\0")
    fake_proc(tmp_path, 90, session=9, environ=b"TEAPOT_STACK_ID=abcd\0")
    assert found(tmp_path, 7) == [80]


def test_closing_one_that_was_killed_is_no_harm() -> None:
    guardian = Guardian()
    guardian.close()
    guardian.start()
    assert guardian.pid is not None
    os.kill(guardian.pid, signal.SIGKILL)
    guardian.began(1, None)
    guardian.ended(1)
    guardian.close()
    assert guardian.pid is None


def test_every_guardian_has_a_mark_of_its_own() -> None:
    assert Guardian().mark != Guardian().mark
    with pytest.raises(KeyError):
        os.environ[next(iter(Guardian().mark))]
