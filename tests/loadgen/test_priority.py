from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def told(code: str, *arguments: str) -> list[str]:
    """What a process of its own says: the tests' must stay as it is."""
    code = f"import os, sys; from pathlib import Path; from loadgen.priority import go_first; {code}"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_it_is_real_time_and_its_children_are_not_or_it_says_no() -> None:
    child = "[sys.executable, '-c', 'import os; print(os.sched_getscheduler(0))']"
    how, mine, theirs = told(
        "import subprocess; how = go_first(); print(how, os.sched_getscheduler(0) & 0xff, flush=True);"
        f"subprocess.run({child})"
    )
    assert (how == "real-time") == (int(mine) == os.SCHED_RR)
    assert int(theirs) == os.SCHED_OTHER


def lowered(nice: int, session: int, autogroup: Path) -> tuple[str, int, str]:
    """What becomes of a process and a session of this niceness: how, its niceness, the session's file."""
    autogroup.write_text(f"/autogroup-84 nice {session}\n")
    how, priority = told(
        f"os.setpriority(os.PRIO_PROCESS, 0, {nice});"
        "print(go_first(autogroup=Path(sys.argv[1]), real_time=False), os.getpriority(os.PRIO_PROCESS, 0))",
        str(autogroup),
    )
    return how, int(priority), autogroup.read_text().rpartition("nice ")[2].strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="raising the priority needs root")
def test_else_priority_and_session_are_raised(tmp_path: Path) -> None:
    assert lowered(0, 0, tmp_path / "autogroup") == ("nice", -10, "-10")


@pytest.mark.skipif(os.geteuid() != 0, reason="raising the priority needs root")
def test_what_goes_first_already_is_not_put_back(tmp_path: Path) -> None:
    assert lowered(-15, -12, tmp_path / "autogroup") == ("nice", -15, "-12")
    assert lowered(-15, 5, tmp_path / "autogroup") == ("nice", -15, "-10")


@pytest.mark.skipif(os.geteuid() != 0, reason="the real-time class needs root")
def test_a_higher_place_in_the_real_time_class_is_kept() -> None:
    set_up = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7))"
    assert told(
        f"{set_up}; print(go_first(), os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)"
    ) == [
        "real-time",
        str(os.SCHED_FIFO),
        "7",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming someone else needs root")
def test_where_it_may_not_it_says_no_and_nothing_changes() -> None:
    nobody = 65534
    how, priority = told(
        f"os.setuid({nobody}); print(go_first(autogroup=Path('nowhere')), os.getpriority(os.PRIO_PROCESS, 0))"
    )
    assert (how, priority) == ("ordinary", "0")


def test_where_sessions_are_no_groups_the_process_alone_is_raised() -> None:
    assert told("go_first(autogroup=Path('nowhere'), real_time=False); print(Path('nowhere').exists())") == [
        "False"
    ]
