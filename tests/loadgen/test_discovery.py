from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loadgen.discovery import announced, sweep

ADDRESS, TARGET = "127.0.0.1:9478", "http://127.0.0.1:8000"


def silent(text: str) -> None:
    raise AssertionError(text)


def test_a_run_is_told_of_while_it_is_on(tmp_path: Path) -> None:
    with announced(tmp_path, ADDRESS, TARGET, silent):
        [path] = tmp_path.iterdir()
        assert path.suffix == ".json"
        assert json.loads(path.read_text()) == [
            {"targets": ["127.0.0.1:9478"], "labels": {"__meta_teapot_target": "http://127.0.0.1:8000"}}
        ]
        sweep(tmp_path)
        assert path.exists()
    assert list(tmp_path.iterdir()) == []


def test_it_is_not_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), announced(tmp_path, ADDRESS, TARGET, silent):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_without_an_exporter_a_folder_or_a_name_for_it_there_is_nothing(tmp_path: Path) -> None:
    with announced(tmp_path, None, TARGET, silent), announced(None, ADDRESS, TARGET, silent):
        assert list(tmp_path.iterdir()) == []
    with announced(tmp_path / "nobody looks", ADDRESS, TARGET, silent):
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / f".{os.getpid()}.json.new").mkdir()
    said: list[str] = []
    with announced(tmp_path, ADDRESS, TARGET, said.append):
        pass
    assert len(said) == 1
    assert "not told" in said[0]


def test_the_file_of_a_killed_run_is_removed_by_whoever_looks(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from loadgen.discovery import announced\n"
        f"with announced(Path({str(tmp_path)!r}), {ADDRESS!r}, {TARGET!r}, print):\n"
        "    print('there', flush=True); time.sleep(100)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "there\n"
        [path] = tmp_path.iterdir()
        sweep(tmp_path)
        assert path.exists()
        run.send_signal(signal.SIGKILL)
        run.wait()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_two_who_look_at_once_do_not_take_each_other_for_the_run(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("[]")
    with (tmp_path / "1.json").open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
