from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_else_priority_and_session_are_raised_or_it_says_no(tmp_path: Path) -> None:
    group = tmp_path / "autogroup"
    group.touch()
    how, priority = told(
        "print(go_first(autogroup=Path(sys.argv[1]), real_time=False), os.getpriority(os.PRIO_PROCESS, 0))",
        str(group),
    )
    if how == "nice":
        assert (priority, group.read_text()) == ("-10", "-10\n")
    else:
        assert (how, int(priority)) == ("ordinary", os.getpriority(os.PRIO_PROCESS, 0))


def test_where_sessions_are_no_groups_the_process_alone_is_raised() -> None:
    assert told("go_first(autogroup=Path('nowhere'), real_time=False); print(Path('nowhere').exists())") == [
        "False"
    ]
