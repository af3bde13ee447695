"""Lines that are on the disk before what they announce is done."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.rollout.journal import Busy, DiskFull, Journal, folder_of, lock, newest_first, next_folder
from serving.errors import Failed


def lines(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_lines_are_added_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.jsonl"
    Journal(path).append({"at": 1.5, "kind": "plan"})
    Journal(path).append({"at": 2.5, "kind": "state", "text": "ä\n"})
    assert lines(path) == [{"at": 1.5, "kind": "plan"}, {"at": 2.5, "kind": "state", "text": "ä\n"}]
    assert Journal(path).lines() == tuple(lines(path))


def test_a_journal_that_was_never_written_has_no_lines(tmp_path: Path) -> None:
    assert Journal(tmp_path / "none.jsonl").lines() == ()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    Journal(tmp_path / "j").append({})
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600


def test_a_line_is_on_the_disk_when_append_returns(tmp_path: Path) -> None:
    path, seen = tmp_path / "j", []
    journal = Journal(path, sync=lambda _: seen.append(path.read_bytes()))
    journal.append({"a": 1})
    assert seen == [b'{"a":1}\n']


@pytest.mark.parametrize("torn", ['{"b":', '{"b":2}', "x" * 9000])
def test_a_torn_last_line_is_dropped_and_the_next_one_takes_its_place(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "j"
    path.write_text('{"a":1}\n' + torn)
    journal = Journal(path)
    assert journal.lines() == ({"a": 1},)
    journal.append({"c": 3})
    assert path.read_text() == '{"a":1}\n{"c":3}\n'


def test_a_file_that_is_nothing_but_a_torn_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text('{"a"')
    Journal(path).append({"b": 2})
    assert path.read_text() == '{"b":2}\n'


@pytest.mark.parametrize("damaged", ['{"a":1\n{"b":2}\n', '{"a":1}\n[]\n{"b":2}\n'])
def test_a_damaged_line_in_the_middle_is_said_with_its_number(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "j"
    path.write_text(damaged)
    with pytest.raises(Failed, match=r"j:[12]: this line is no JSON object") as failed:
        Journal(path).lines()
    # Not by `abort`, which has to read it, too.
    assert "go back by hand and move its folder away (docs/rollout.md)" in str(failed.value)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_and_leaves_whole_lines_only(tmp_path: Path, number: int) -> None:
    path = tmp_path / "j"
    Journal(path).append({"a": 1})

    def half(file: int, data: bytes) -> int:
        if len(data) < 10:
            raise OSError(number, os.strerror(number))
        return os.write(file, data[:-5])

    with pytest.raises(DiskFull, match="the disk is full, so the next step cannot be kept and is not taken"):
        Journal(path, write=half).append({"text": "longer than ten bytes"})
    assert path.read_text() == '{"a":1}\n'
    Journal(path).append({"b": 2})
    assert lines(path) == [{"a": 1}, {"b": 2}]


def test_a_disk_that_is_found_full_only_when_synced_counts_as_full(tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull):
        Journal(tmp_path / "j", sync=full).append({"a": 1})
    assert (tmp_path / "j").read_bytes() == b""


def test_a_really_full_disk_is_a_full_disk(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        journal = Journal(tmp_path / "j", write=lambda _, data: os.write(full.fileno(), data))
        with pytest.raises(DiskFull, match="free some space; the rollout stays where it is"):
            journal.append({"a": 1})


def test_another_trouble_with_the_disk_is_said_as_what_it_is(tmp_path: Path) -> None:
    def broken(_: int, __: bytes) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(DiskFull, match=r"nothing can be written \(Input/output error\)") as failed:
        Journal(tmp_path / "j", write=broken).append({"a": 1})
    assert "free some space" not in str(failed.value)


def test_a_journal_that_can_neither_be_read_nor_begun_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "j").mkdir()
    with pytest.raises(Failed, match="j: cannot be read: Is a directory"):
        Journal(tmp_path / "j").lines()
    (tmp_path / "file").touch()
    with pytest.raises(Failed, match=r"nothing can be written \(File exists\)"):
        Journal(tmp_path / "file" / "journal.jsonl").append({"a": 1})


def test_a_state_folder_in_which_nothing_can_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "rollouts").touch()
    said = "demo/lock: the lock of its rollouts cannot be taken: Not a directory; see to the disk"
    with pytest.raises(Failed, match=said), lock(tmp_path / "rollouts" / "demo"):
        pytest.fail("there is no lock")


def test_numbers_that_json_does_not_know_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        Journal(tmp_path / "j").append({"a": float("nan")})
    assert not (tmp_path / "j").exists()


def test_a_second_rollout_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        lock(tmp_path / "demo"),
        pytest.raises(Busy, match=f"a rollout is going on already, in process {os.getpid()}"),
        lock(tmp_path / "demo"),
    ):
        pytest.fail("both have it")
    with lock(tmp_path / "demo"):
        pass


HOLD = (
    "import sys, pathlib, signal; from deploy.rollout.journal import lock\n"
    "with lock(pathlib.Path(sys.argv[1])): print('held', flush=True); signal.pause()"
)


def test_a_killed_process_lets_go_of_the_lock(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Busy, match=f"in process {holder.pid}"), lock(tmp_path):
            pytest.fail("both have it")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with lock(tmp_path):
            pass


def test_rollouts_are_those_with_a_journal_the_newest_first(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "demo")
    assert folder == tmp_path / "state" / "rollouts" / "demo"
    assert newest_first(folder) == []
    for name in ("20261129-100000-v2", "20261129-110000-v3", "moved-aside-v1"):
        Journal(folder / name / "journal.jsonl").append({})
    (folder / "20261129-120000-v4").mkdir()
    assert [path.name for path in newest_first(folder)] == ["20261129-110000-v3", "20261129-100000-v2"]


NOON_S = 1_764_417_600.0
"""2025-11-29 12:00:00 UTC, by `date -u -d @1764417600`."""


def test_a_new_rollout_is_the_newest_whatever_the_clock_says(tmp_path: Path) -> None:
    began = []
    # Each second one, then two within one, and then the clock is set back by a day.
    for now_s in (NOON_S, NOON_S + 1, NOON_S + 1.5, NOON_S - 86400):
        path = next_folder(tmp_path, "v2", now_s)
        Journal(path / "journal.jsonl").append({})
        began.append(path)
    assert [path.name for path in began] == [
        "20251129-120000-v2", "20251129-120001-v2", "20251129-120002-v2", "20251129-120003-v2",
    ]  # fmt: skip
    assert newest_first(tmp_path) == began[::-1]
    assert next_folder(tmp_path, "v2", NOON_S + 60).name == "20251129-120100-v2"
