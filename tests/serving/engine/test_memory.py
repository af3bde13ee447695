"""Resident memory, from a /proc made by hand and from our own process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from serving.engine.memory import resident_bytes

PAGE = os.sysconf("SC_PAGE_SIZE")


def process(proc: Path, pid: int, statm: str) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "statm").write_text(statm)


def test_resident_pages_of_all_processes_are_added_up(tmp_path: Path) -> None:
    process(tmp_path, 7, "9000 100 20 1 0 30 0\n")
    process(tmp_path, 8, "5000 11 2 1 0 3 0\n")
    assert resident_bytes([7, 8], tmp_path) == 111 * PAGE


def test_a_process_that_has_ended_meanwhile_is_passed_over(tmp_path: Path) -> None:
    process(tmp_path, 7, "9000 100 20 1 0 30 0\n")
    process(tmp_path, 8, "")
    assert resident_bytes([7, 8, 9], tmp_path) == 100 * PAGE


def test_of_no_process_nothing_is_known(tmp_path: Path) -> None:
    assert resident_bytes([9], tmp_path) is None
    assert resident_bytes([], tmp_path) is None


@pytest.mark.slow
def test_our_own_process_grows_by_what_it_holds() -> None:
    before = resident_bytes([os.getpid()])
    held = b"x" * 64 * 1024**2
    after = resident_bytes([os.getpid()])
    assert before is not None
    assert after is not None
    assert after - before > 48 * 1024**2
    assert len(held) == 64 * 1024**2
