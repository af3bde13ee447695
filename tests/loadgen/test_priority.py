from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_priority_and_session_are_raised_or_it_says_no(tmp_path: Path) -> None:
    group = tmp_path / "autogroup"
    group.touch()
    code = (
        "import os, sys; from pathlib import Path; from loadgen.priority import go_first;"
        "print(go_first(autogroup=Path(sys.argv[1])), os.getpriority(os.PRIO_PROCESS, 0))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(group)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert told in (["True", "-10"], ["False", str(os.getpriority(os.PRIO_PROCESS, 0))])
    assert group.read_text() == ("-10\n" if told[0] == "True" else "")


def test_where_sessions_are_no_groups_the_process_alone_is_raised(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from loadgen.priority import go_first;"
        "go_first(autogroup=Path('nowhere')); print(Path('nowhere').exists())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert told == "False\n"
