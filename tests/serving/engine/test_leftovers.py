from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from serving.engine.leftovers import kill_all, leftovers

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]


def fake_proc(folder: Path, pid: int, *, session: int, state: str = "S", environ: bytes = b"") -> None:
    (folder / str(pid)).mkdir()
    (folder / str(pid) / "stat").write_text(f"{pid} (odd) name)) {state} 1 {session} {session} 0 -1")
    (folder / str(pid) / "environ").write_bytes(environ)
    (folder / str(pid) / "cmdline").write_bytes(b"VLLM::EngineCore\0\0")


def test_a_real_process_is_found_by_its_environment() -> None:
    environ = {**os.environ, "TEAPOT_ENGINE_ID": "test-leftovers-1"}
    with subprocess.Popen(SLEEP, env=environ, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (found,) = leftovers("test-leftovers-1")
        assert (found.pid, found.command.split()[0]) == (child.pid, sys.executable)
        child.kill()
    assert leftovers("test-leftovers-1") == []


def test_one_that_overwrote_its_environment_is_found_by_its_session(tmp_path: Path) -> None:
    fake_proc(tmp_path, 70, session=7, environ=b"\0" * 100)
    fake_proc(tmp_path, 80, session=8, environ=b"\0" * 100)
    assert [(p.pid, p.command) for p in leftovers("abc", 7, tmp_path)] == [(70, "VLLM::EngineCore")]
    assert leftovers("abc", None, tmp_path) == []


def test_another_engines_id_that_begins_alike_is_not_ours(tmp_path: Path) -> None:
    fake_proc(tmp_path, 70, session=7, environ=b"A=1\0TEAPOT_ENGINE_ID=abcd\0")
    fake_proc(tmp_path, 71, session=7, environ=b"A=1\0TEAPOT_ENGINE_ID=abc\0")
    assert [p.pid for p in leftovers("abc", None, tmp_path)] == [71]


def test_zombies_and_what_is_gone_do_not_count(tmp_path: Path) -> None:
    fake_proc(tmp_path, 70, session=7, state="Z")
    (tmp_path / "71").mkdir()
    (tmp_path / "self").mkdir()
    assert leftovers("abc", 7, tmp_path) == []


@pytest.mark.slow
def test_all_that_is_found_is_killed_but_resource_trackers_only_when_asked() -> None:
    environ = {**os.environ, "TEAPOT_ENGINE_ID": "test-leftovers-2"}
    tracker = [*SLEEP, "multiprocessing.resource_tracker"]
    with (
        subprocess.Popen(SLEEP, env=environ, stdout=subprocess.PIPE) as child,
        subprocess.Popen(tracker, env=environ, stdout=subprocess.PIPE) as spared,
    ):
        for process in (child, spared):
            assert process.stdout is not None
            process.stdout.readline()
        find = partial(leftovers, "test-leftovers-2")
        assert [p.pid for p in kill_all(find, trackers=False)] == [child.pid]
        assert child.wait(10) == -9
        assert [p.pid for p in kill_all(find, trackers=True)] == [spared.pid]
        assert spared.wait(10) == -9
