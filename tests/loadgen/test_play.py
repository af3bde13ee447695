from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

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
    folder = folder_for(engine, workload(warmup={"requests": 1}), run_dir)
    assert one.run(folder, heard=heard.append, exporter_port="off") == "complete"
    # The engine's own account: one to probe, one to warm up, six that count, each of four tokens.
    assert len(engine.exchanges(expect=8)) == 8
    assert [each.tally is None for each in heard].count(True) == 1
    last = one.history[-1]
    assert (last["sent"], last["warmup"], last["ok"], last["in_flight"], last["unread"]) == (7, 1, 6, 0, 0)
    assert "6 ok" in lines[-1]
    assert folder.live() == json.loads(json.dumps(last))
    assert len(one.history) == len(lines)


def test_the_run_is_on_the_exporter_s_page_only_while_it_is_on(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    port = free_port()
    pages: list[str] = []

    def heard(_: Heard) -> None:
        if not pages:
            pages.append(urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode())

    folder = folder_for(engine, workload(), run_dir)
    assert play().run(folder, heard=heard, exporter_port=str(port)) == "complete"
    assert f'teapot_load_requests_sent_total{{run="{run_dir.name}",stage="all",workload="small"}}' in pages[0]
    with pytest.raises(OSError, match="refused"):
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)


def test_prometheus_is_told_of_the_page_only_while_the_run_is_on(
    engine: ScriptedEngine, workload: Make, run_dir: Path, tmp_path: Path
) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    port = free_port()
    told: list[str] = []

    def heard(_: Heard) -> None:
        told[:] = [path.read_text() for path in watched.iterdir()]

    one = Play(say=print, show=lambda _: None, discovery=watched)
    folder = folder_for(engine, workload(), run_dir)
    assert one.run(folder, heard=heard, exporter_port=str(port)) == "complete"
    assert [json.loads(text) for text in told] == [
        [{"targets": [f"127.0.0.1:{port}"], "labels": {"__meta_teapot_target": engine.url}}]
    ]
    assert list(watched.iterdir()) == []


def test_a_stop_before_the_start_sends_nothing(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    one = play()
    folder = folder_for(engine, workload(), run_dir)
    probes = len(engine.exchanges())
    one.stop()
    assert one.run(folder, heard=lambda _: None, exporter_port="off") == "interrupted"
    assert one.history[-1]["sent"] == 0
    assert len(engine.exchanges()) == probes
    one.begin()
    folder = folder_for(engine, workload(), run_dir.with_name("again"))
    assert one.run(folder, heard=lambda _: None, exporter_port="off") == "complete"
    assert len(folder.records()) == 6


@pytest.mark.parametrize("port", ["yes", "taken"])
def test_a_port_that_cannot_be_had_is_said_before_anything_is_sent_and_the_last_run_is_still_shown(
    engine: ScriptedEngine, workload: Make, run_dir: Path, port: str
) -> None:
    one = play()
    assert one.run(folder_for(engine, workload(), run_dir), heard=lambda _: None, exporter_port="off")
    shown = one.history
    folder = folder_for(engine, workload(), run_dir.with_name("again"))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        taken = str(bound.getsockname()[1])
        with pytest.raises(UsageError, match="'yes' is not a port" if port == "yes" else taken):
            one.run(folder, heard=lambda _: None, exporter_port=taken if port == "taken" else port)
    assert folder.account() is None
    assert not folder.records()
    assert one.history == shown
    one.stop()  # of no run: it returns at once


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


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
