"""Lead and followers in one process, their messages handed over by hand; the engine is a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gevent
import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.follow import Follow
from loadgen.lead import POLL_S, Lead, worker_folder
from loadgen.limits import Limits
from loadgen.live import Live
from loadgen.messages import DONE, PLAY, READY, STOP
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
        self.mute: set[str] = set()
        """Live and are told, and are not heard to be done."""
        self.told: list[tuple[str, str]] = []
        self.heard: list[tuple[str, str]] = []
        self.follows = {f"w{n}": self._follow(f"w{n}", n in elsewhere) for n in range(number)}
        self.lead = Lead(folder, list(self.follows), self._tell, lambda worker: worker not in self.gone)

    def _follow(self, worker: str, elsewhere: bool) -> Follow:
        made = Follow(say=lambda kind, data: gevent.spawn(self._hear, kind, worker, data))
        if elsewhere:
            made.machine = "another one"
        return made

    def _hear(self, kind: str, worker: str, data: Mapping[str, Any]) -> None:
        if worker not in self.gone and not (worker in self.mute and kind == DONE):
            self.lead.hear(kind, worker, data)
            self.heard.append((kind, worker))

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


class Clock:
    """One that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Let time go on, and the lead look at it."""
        self.now += seconds
        gevent.sleep(5 * POLL_S)


LIMITS = Limits(total_s=1000, connect_s=10, drain_s=100)
TELL_S = 1.0
"""A worker may be silent for 111 s once all is sent, and for 1011 s in its warm-up."""


def test_a_worker_that_lives_and_never_tells_is_not_waited_for(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    team, clock = Team(folder_for(engine, workload(), run_dir), 2), Clock()
    team.mute.add("w1")
    team.lead.limits, team.lead.tell_s, team.lead.now_s = LIMITS, TELL_S, clock
    running = gevent.spawn(team.lead.run)
    while (DONE, "w0") not in team.heard or team.follows["w1"].playing:
        gevent.sleep(0.01)
        assert not running.ready()
    clock.pass_by(110)
    assert not running.ready()
    clock.pass_by(2)
    assert running.get(timeout=10) == "worker_lost"
    (error,) = team.lead.errors
    assert error.startswith("worker 1 lives, but has got no further for 112 s")
    assert [worker for kind, worker in team.told if kind == STOP] == ["w1"]
    # What it wrote before it fell silent is kept.
    assert sorted(record.index for record in team.lead.folder.records()) == list(range(6))


def silent_lead(folder: RunFolder, clock: Clock, told: list[tuple[str, bool]]) -> Lead:
    """A lead of one worker that lives and says nothing of its own accord; `told` gets kinds and cuts."""

    def tell(kind: str, data: Mapping[str, Any], _: str) -> None:
        told.append((kind, data.get("cut", False)))

    return Lead(folder, ["w0"], tell, limits=LIMITS, tell_s=TELL_S, now_s=clock)


def test_a_worker_that_never_begins_is_not_waited_for(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    told: list[tuple[str, bool]] = []
    clock = Clock()
    lead = silent_lead(folder_for(engine, workload(), run_dir), clock, told)
    running = gevent.spawn(lead.run)
    gevent.sleep(0.1)
    clock.pass_by(1010)
    assert not running.ready()
    clock.pass_by(2)
    assert running.get(timeout=10) == "worker_lost"
    assert told[:2] == [(PLAY, False), (STOP, True)]


def test_a_worker_that_gets_on_is_waited_for_however_long(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    clock = Clock()
    lead = silent_lead(folder_for(engine, workload(), run_dir), clock, [])
    running = gevent.spawn(lead.run)
    gevent.sleep(0.1)
    lead.hear(READY, "w0", {})
    for unread in range(5, 0, -1):
        clock.pass_by(100)
        assert not running.ready()
        lead.hear_live("w0", Live(sent=20, unread=unread).to_wire())
    clock.pass_by(100)
    lead.hear_live("w0", Live(sent=20, unread=1).to_wire())  # nothing new
    assert not running.ready()
    clock.pass_by(12)
    assert running.get(timeout=10) == "worker_lost"


def test_two_stops_shorten_the_wait_for_a_worker_that_does_not_heed_them(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    slow = workload(arrival={"process": "constant", "rate": "1/min", "requests": 5})
    clock = Clock()
    lead = silent_lead(folder_for(engine, slow, run_dir), clock, [])
    running = gevent.spawn(lead.run)
    gevent.sleep(0.1)
    lead.hear(READY, "w0", {})
    clock.pass_by(200)  # sends are still to come
    assert not running.ready()
    lead.stop(wait=False)
    lead.stop(wait=False)
    clock.pass_by(12)
    assert running.get(timeout=10) == "worker_lost"


def test_what_a_worker_says_after_it_was_given_up_counts_for_nothing() -> None:
    lead = Lead(RunFolder(Path("nowhere")), ["a"], lambda *_: None)
    lead.hear(DONE, "a", {"live": Live(sent=4).to_wire(), "account": None, "error": "ill"})
    lead.hear(DONE, "a", {"live": Live(sent=9).to_wire(), "account": None, "error": None})
    assert lead.live().sent == 4


def test_figures_of_a_worker_count_until_it_has_told_its_last() -> None:
    lead = Lead(RunFolder(Path("nowhere")), ["a", "b"], lambda *_: None)
    lead.hear_live("a", Live(sent=2).to_wire())
    lead.hear_live("b", Live(sent=3, in_flight=1).to_wire())
    lead.hear_live("stranger", Live(sent=100).to_wire())
    assert (lead.live().sent, lead.live().in_flight) == (5, 1)
    lead.hear("teapot_done", "b", {"live": Live(sent=4).to_wire(), "account": None, "error": None})
    lead.hear_live("b", Live().to_wire())
    assert lead.live().sent == 6
