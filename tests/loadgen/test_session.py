from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gevent
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, Script

from loadgen.limits import Limits
from loadgen.prepare import Request, prepare
from loadgen.records import RequestRecord
from loadgen.run_folder import RunFolder
from loadgen.session import Session, as_locust_row
from loadgen.target import parse_target
from loadgen.workload import Workload

Make = Callable[..., Workload]


def folder_for(engine: ScriptedEngine, workload: Workload, out: Path) -> RunFolder:
    request = Request(workload, parse_target(engine.url), out, (f"{engine.url}/metrics",))
    return prepare(request, say=lambda _: None)


def test_a_session_sends_the_whole_timetable_and_leaves_a_whole_folder(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = folder_for(engine, workload(warmup={"requests": 2}), run_dir)
    heard: list[RequestRecord] = []
    assert Session(folder, heard=heard.append).run() == "complete"
    records = folder.records()
    assert sorted(record.index for record in records) == list(range(8))
    assert {record.outcome for record in records} == {"ok"}
    assert {record.prompt_tokens for record in records} == {24}
    assert {record.output_tokens for record in records} == {4}
    assert {record.output_tokens_by_event for record in records} == {(1, 1, 1, 1)}
    assert list(records) == heard
    account = folder.account()
    assert account is not None
    assert (account.ended, account.sent) == ("complete", 8)


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
    running = gevent.spawn(session.run)
    gevent.sleep(0.4)
    gevent.spawn(session.stop)
    gevent.sleep(0.01)
    session.stop()
    running.get()
    assert {record.outcome for record in folder.records()} == {"cut"}


def test_a_row_for_locust_ends_at_the_last_output_and_names_the_kind() -> None:
    record = RequestRecord(
        1, "measure", "code", "ok", None, 1_000_000, 99_000_000, output_ns=(5_000_000, 11_000_000), bytes_in=7
    )
    row = as_locust_row(record)
    assert (row["name"], row["response_time"], row["response_length"]) == ("code", 10.0, 7)
    assert row["exception"] is None
    failed = RequestRecord(1, "measure", "code", "failed", None, 0, 2_000_000, error="refused")
    assert as_locust_row(failed)["response_time"] == 2.0
    assert str(as_locust_row(failed)["exception"]) == "refused"
