from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.play import Play
from loadgen.prepare import Request, prepare
from loadgen.reading import Heard
from loadgen.run_folder import RunFolder
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.errors import Failed, UsageError

Make = Callable[..., Workload]
pytestmark = pytest.mark.slow


def folder_for(engine: ScriptedEngine, workload: Workload, out: Path) -> RunFolder:
    return prepare(Request(workload, parse_target(engine.url), out), say=lambda _: None)


def play(lines: list[str] | None = None) -> Play:
    shown = [] if lines is None else lines
    return Play(say=shown.append, show=shown.append)


def test_a_run_of_one_process_is_watched_to_its_end(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    lines: list[str] = []
    heard: list[Heard] = []
    one = play(lines)
    folder = folder_for(engine, workload(), run_dir)
    assert one.run(folder, heard=heard.append, exporter_port="0") == "complete"
    assert len(heard) == 6
    assert one.history[-1]["ok"] == 6
    assert "6 ok" in lines[-1]
    live = folder.live()
    assert live is not None
    assert live["ok"] == 6


def test_a_stop_before_the_start_sends_nothing(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    one = play()
    one.stop()
    assert (
        one.run(folder_for(engine, workload(), run_dir), heard=lambda _: None, exporter_port="off")
        == "interrupted"
    )
    assert one.history[-1]["sent"] == 0
    one.begin()
    folder = folder_for(engine, workload(), run_dir.with_name("again"))
    assert one.run(folder, heard=lambda _: None, exporter_port="off") == "complete"


def test_a_wrong_exporter_port_is_said_before_anything_is_sent(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    with pytest.raises(UsageError, match="'yes' is not a port"):
        play().run(folder, heard=lambda _: None, exporter_port="yes")
    assert folder.account() is None


class NoWorkers:
    """A wire with nobody at its end."""

    def workers(self) -> Sequence[str]:
        return ()

    def alive(self, worker: str) -> bool:
        return False

    def tell(self, kind: str, data: Mapping[str, Any], worker: str) -> None:
        raise AssertionError


def test_a_lead_without_workers_says_so(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    one = play()
    one.lead_through(NoWorkers())
    with pytest.raises(Failed, match="no worker is connected"):
        one.run(folder_for(engine, workload(), run_dir), heard=lambda _: None, exporter_port="off")
