from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from serving.engine.locks import file_lock

HOLD = """
import sys
from pathlib import Path
from serving.engine.locks import file_lock
with file_lock(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_free_lock_is_had_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []
    with file_lock(tmp_path / "lock", said.append):
        pass
    assert said == []


@pytest.mark.slow
def test_the_second_waits_hears_who_holds_it_and_then_has_it(tmp_path: Path) -> None:
    said: list[str] = []
    waiting = threading.Event()

    def on_wait(text: str) -> None:
        said.append(text)
        waiting.set()

    had = threading.Event()

    def second() -> None:
        with file_lock(tmp_path / "lock", on_wait):
            had.set()

    with holder(tmp_path / "lock") as first:
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(20)
        assert not had.is_set()
        first.communicate()
    thread.join(20)
    assert had.is_set()
    assert said == [f"waiting for process {first.pid}, which is doing the same (lock)"]


def test_a_killed_holder_frees_it(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as first:
        first.kill()
        first.wait()
        with file_lock(tmp_path / "lock", print):
            pass


def test_a_child_that_inherits_it_keeps_it(tmp_path: Path) -> None:
    with file_lock(tmp_path / "lock", print) as descriptor:
        child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, pass_fds=(descriptor,))
    said: list[str] = []

    def on_wait(text: str) -> None:
        said.append(text)
        child.communicate()

    with file_lock(tmp_path / "lock", on_wait):
        pass
    assert said == [f"waiting for process {os.getpid()}, which is doing the same (lock)"]
