from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gevent
import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, Script

from loadgen import session as session_module
from loadgen.limits import Limits
from loadgen.prepare import Request, prepare
from loadgen.reading import Heard
from loadgen.records import RequestRecord
from loadgen.run_folder import RunFolder
from loadgen.session import Part, Session, as_locust_row, plan_of
from loadgen.target import parse_target
from loadgen.workload import Workload

Make = Callable[..., Workload]


def folder_for(engine: ScriptedEngine, workload: Workload, out: Path) -> RunFolder:
    request = Request(workload, parse_target(engine.url), out, (f"{engine.url}/metrics",))
    return prepare(request, say=lambda _: None)


@pytest.mark.slow
def test_a_session_sends_the_whole_timetable_and_leaves_a_whole_folder(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 2}), run_dir)
    heard: list[Heard] = []
    assert Session(folder, heard=heard.append).run() == "complete"
    records = folder.records()
    assert sorted(record.index for record in records) == list(range(8))
    assert {record.outcome for record in records} == {"ok"}
    assert {record.prompt_tokens for record in records} == {24}
    assert {record.output_tokens for record in records} == {4}
    assert {record.output_tokens_by_event for record in records} == {(1, 1, 1, 1)}
    assert sum(one.tally is None for one in heard) == 2
    assert len(heard) == 8
    account = folder.account()
    assert account is not None
    assert (account.ended, account.sent) == ("complete", 8)


@pytest.mark.slow
def test_intended_times_are_on_the_records_clock(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    Session(folder).run()
    account = folder.account()
    assert account is not None
    for record in folder.records():
        assert record.t_intended_ns == account.measure_start_ns + record.index * 25_000_000
        assert record.t_sent_ns >= record.t_intended_ns


@pytest.mark.slow
def test_the_server_is_read_at_both_edges_with_nothing_in_flight(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 3}), run_dir)
    Session(folder).run()
    first, last = [sample for sample in folder.server_samples() if sample.edge]
    grew = last.series["vllm:time_to_first_token_seconds_count"] - first.series.get(
        "vllm:time_to_first_token_seconds_count", 0
    )
    assert grew == 6
    assert first.series["vllm:num_requests_running"] == 0


@pytest.mark.slow
def test_the_server_s_own_request_ids_are_ours(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    folder = folder_for(engine, workload(), run_dir)
    engine.reset()
    Session(folder).run()
    salt = folder.manifest().salt
    sent = {exchange.headers["x-request-id"] for exchange in engine.exchanges(expect=6)}
    assert sent == {f"{salt}-{index}" for index in range(6)}


def test_a_stop_keeps_the_records_so_far_and_says_that_it_was_interrupted(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    arrival = {"process": "constant", "rate": "1/min", "requests": 5}
    folder = folder_for(engine, workload(arrival=arrival), run_dir)
    session = Session(folder)
    running = gevent.spawn(session.run)
    while not (folder.records_path.exists() and folder.records()):
        gevent.sleep(0.01)
    session.stop()
    assert running.get() == "interrupted"
    assert len(folder.records()) == 1
    account = folder.account()
    assert account is not None
    assert account.ended == "interrupted"


def test_a_second_stop_cuts_what_hangs(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    folder = folder_for(engine, workload(), run_dir)
    events = Events()
    engine.define(Script("scripted", (events.role(0.0), events.content(0.0, "a")), end="hang"))
    session = Session(folder, limits=Limits(drain_s=3600))
    asked_before = len(engine.exchanges())
    running = gevent.spawn(session.run)
    while len(engine.exchanges()) == asked_before:
        gevent.sleep(0.05)
    gevent.spawn(session.stop)
    gevent.sleep(0.01)
    session.stop()
    running.get()
    assert {record.outcome for record in folder.records()} == {"cut"}


@pytest.mark.slow
def test_what_has_come_so_far_is_known_while_it_runs(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    session = Session(folder_for(engine, workload(warmup={"requests": 2}), run_dir))
    assert session.live().sent == 0
    session.run()
    live = session.live()
    assert (live.sent, live.in_flight, live.unread, live.warmup) == (8, 0, 0, 2)
    assert live.total().ok == 6
    assert live.total().ttft.n == 6


@pytest.mark.slow
def test_parts_of_a_timetable_are_sent_by_several_and_are_the_whole_together(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 2}), run_dir)
    records: list[RequestRecord] = []
    for worker in range(3):
        out = RunFolder(run_dir / f"worker-{worker}")
        out.path.mkdir()
        Session(folder, out=out, part=Part(worker, 3), scrapes=False).run()
        records += out.records()
        assert {record.worker for record in out.records()} <= {worker}
    assert sorted(record.index for record in records) == list(range(8))


def test_slots_are_shared_among_workers(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    arrival = {"process": "closed", "concurrency": 5, "requests": 5}
    folder = folder_for(engine, workload(arrival=arrival), run_dir)
    slots = [plan_of(folder.manifest(), folder.timetable(), Part(worker, 2)).slots for worker in (0, 1)]
    assert [one[0].number for one in slots] == [3, 2]


def test_a_row_for_locust_is_in_milliseconds_and_not_rounded() -> None:
    row = as_locust_row(Heard("code", "measure", 0.0123456, 7, None, None))
    assert (row["name"], row["response_time"], row["response_length"]) == ("code", 12.3456, 7)
    assert row["exception"] is None
    assert str(as_locust_row(Heard("code", "measure", 1, 7, "refused", None))["exception"]) == "refused"


@pytest.mark.slow
def test_a_target_that_stays_silent_to_everyone_ends_the_run_before_its_time(
    workload: Make, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "GIVE_UP_S", 0.2)
    arrival = {"process": "constant", "rate": "50/s", "requests": 3000}
    with ScriptedEngine.start() as mortal:
        folder = folder_for(mortal, workload(arrival=arrival), run_dir)
    assert Session(folder).run() == "target_gone"
    records, account = folder.records(), folder.account()
    assert 10 <= len(records) < 1000
    assert account is not None
    assert account.ended == "target_gone"


def test_a_run_that_is_stopped_at_once_is_not_said_to_have_kept_a_core_busy(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(), run_dir)
    one = Session(folder)
    one.stop(wait=False)
    assert one.run() == "interrupted"
    account = folder.account()
    assert account is not None
    assert (account.sent, account.cpu_ratio) == (0, 0.0)
