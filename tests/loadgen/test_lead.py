"""Lead and followers in one process, their messages handed over by hand; the engine is a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gevent
import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.follow import Follow
from loadgen.lead import Lead, worker_folder
from loadgen.live import Live
from loadgen.messages import STOP
from loadgen.prepare import Request, prepare
from loadgen.run_folder import RunFolder
from loadgen.target import parse_target
from loadgen.workload import Workload

Make = Callable[..., Workload]
pytestmark = pytest.mark.slow


class Team:
    """A lead with followers that hear each other."""

    def __init__(self, folder: RunFolder, number: int, *, elsewhere: tuple[int, ...] = ()) -> None:
        self.gone: set[str] = set()
        self.told: list[tuple[str, str]] = []
        self.follows = {f"w{n}": self._follow(f"w{n}", n in elsewhere) for n in range(number)}
        self.lead = Lead(folder, list(self.follows), self._tell, lambda worker: worker not in self.gone)

    def _follow(self, worker: str, elsewhere: bool) -> Follow:
        made = Follow(say=lambda kind, data: gevent.spawn(self._hear, kind, worker, data))
        if elsewhere:
            made.machine = "another one"
        return made

    def _hear(self, kind: str, worker: str, data: Mapping[str, Any]) -> None:
        if worker not in self.gone:
            self.lead.hear(kind, worker, data)

    def _tell(self, kind: str, data: Mapping[str, Any], worker: str) -> None:
        self.told.append((kind, worker))
        if worker not in self.gone:
            self.follows[worker].hear(kind, data)


def folder_for(engine: ScriptedEngine, workload: Workload, out: Path) -> RunFolder:
    return prepare(
        Request(workload, parse_target(engine.url), out, (f"{engine.url}/metrics",)), say=lambda _: None
    )


def test_workers_send_the_whole_timetable_between_them(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 3}), run_dir)
    team = Team(folder, 3)
    assert team.lead.run() == "complete"
    records, account = folder.records(), folder.account()
    assert sorted(record.index for record in records) == list(range(9))
    assert {record.outcome for record in records} == {"ok"}
    assert account is not None
    assert (account.ended, account.sent, account.workers, account.other_clocks) == ("complete", 9, 3, 0)
    by_index = {record.index: record for record in records}
    for planned in folder.timetable():
        if planned.t_intended_ns is not None:
            meant = by_index[planned.index].t_intended_ns
            assert meant == account.measure_start_ns + planned.t_intended_ns
    live = team.lead.live()
    assert (live.sent, live.warmup, live.total().ok) == (9, 3, 6)


def test_the_servers_are_read_once_and_with_nothing_in_flight(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 2}), run_dir)
    Team(folder, 2).lead.run()
    first, last = [sample for sample in folder.server_samples() if sample.edge]
    name = "vllm:time_to_first_token_seconds_count"
    assert last.series[name] - first.series.get(name, 0) == 6


def test_a_worker_on_another_machine_gets_the_run_and_sends_its_records_back(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    team = Team(folder, 2, elsewhere=(1,))
    assert team.lead.run() == "complete"
    account = folder.account()
    assert account is not None
    assert account.other_clocks == 1
    assert sorted(record.index for record in folder.records()) == list(range(6))
    assert {record.worker for record in worker_folder(folder, 1).records()} <= {1}


def test_a_stop_drains_every_worker_and_a_second_one_cuts(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(
        engine, workload(arrival={"process": "constant", "rate": "1/min", "requests": 5}), run_dir
    )
    team = Team(folder, 2)
    running = gevent.spawn(team.lead.run)
    while not any(follow.live().sent for follow in team.follows.values()):
        gevent.sleep(0.01)
    gevent.spawn(team.lead.stop)
    gevent.sleep(0.01)
    team.lead.stop()
    assert running.get(timeout=30) == "interrupted"
    assert [kind for kind, _ in team.told].count(STOP) == 4
    assert len(folder.records()) == 1


def test_a_worker_that_is_gone_is_told_and_the_others_records_are_kept(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    team = Team(folder, 2)
    running = gevent.spawn(team.lead.run)
    while not any(follow.playing for follow in team.follows.values()):
        gevent.sleep(0.005)
    team.gone.add("w1")
    assert running.get(timeout=60) == "worker_lost"
    assert team.lead.errors == ["worker 1 is gone"]
    assert {record.worker for record in worker_folder(folder, 0).records()} <= {0}
    team.follows["w1"].stop(cut=True)
    while team.follows["w1"].playing:
        gevent.sleep(0.01)


def test_figures_of_a_worker_count_until_it_has_told_its_last() -> None:
    lead = Lead(RunFolder(Path("nowhere")), ["a", "b"], lambda *_: None)
    lead.hear_live("a", Live(sent=2).to_wire())
    lead.hear_live("b", Live(sent=3, in_flight=1).to_wire())
    lead.hear_live("stranger", Live(sent=100).to_wire())
    assert (lead.live().sent, lead.live().in_flight) == (5, 1)
    lead.hear("teapot_done", "b", {"live": Live(sent=4).to_wire(), "account": None, "error": None})
    lead.hear_live("b", Live().to_wire())
    assert lead.live().sent == 6
