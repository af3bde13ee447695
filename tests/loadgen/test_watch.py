from __future__ import annotations

import json
from pathlib import Path

import gevent
import pytest

from loadgen.live import Live
from loadgen.run_folder import RunFolder
from loadgen.watch import EVERY_S, Watch


@pytest.mark.slow
def test_a_run_is_looked_at_each_second_and_a_last_time_at_its_end(tmp_path: Path) -> None:
    live, lines = Live(), list[str]()
    watch = Watch(lambda: live, RunFolder(tmp_path), lines.append)
    watch.start()
    live.sent = 3
    gevent.sleep(EVERY_S * 1.5)
    live.sent = 5
    watch.stop()
    assert [shown["sent"] for shown in watch.history][-1] == 5
    assert 3 in [shown["sent"] for shown in watch.history]
    assert json.loads((tmp_path / "live.json").read_text())["sent"] == 5
    assert len(lines) == len(watch.history) >= 2


def test_what_was_shown_does_not_change_later(tmp_path: Path) -> None:
    live = Live(sent=1)
    watch = Watch(lambda: live, RunFolder(tmp_path))
    watch.start()
    watch.stop()
    live.sent = 9
    assert watch.history[-1]["sent"] == 1
