"""The reading process is a real one: what is asserted is what arrives on disk and in the listener."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import gevent
import pytest

from loadgen.parse import Capture
from loadgen.reading import Heard, Order
from loadgen.recorder import Recorder
from loadgen.records import Planned, RequestRecord
from loadgen.stats.plan import Slo
from serving.errors import Failed

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
EVENT = b'data: {"choices":[{"delta":{"content":"b"}}]}\n\n'
pytestmark = pytest.mark.slow


def capture(events: int = 1) -> Capture:
    data = HEAD + EVENT * events + b"data: [DONE]\n\n"
    return Capture(t_sent_ns=100, t_end_ns=300, parts=[data], stamps=[300], closed=True)


def planned(index: int, phase: str = "measure") -> Planned:
    return Planned(index, phase, 0, "any", "/", {})  # type: ignore[arg-type]


def order(tmp_path: Path, *, worker: int = 0) -> Order:
    return Order(tmp_path / "spool", tmp_path / "records.jsonl", 50, Slo(ttft_s=1.0), worker)


def lines(tmp_path: Path) -> list[RequestRecord]:
    return [RequestRecord.from_json(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]


def test_every_capture_becomes_a_line_and_is_heard_of(tmp_path: Path) -> None:
    heard: list[Heard] = []
    recorder = Recorder(order(tmp_path, worker=3), heard.append)
    recorder.start()
    recorder.take(planned(0, "warmup"), capture(), 200)
    for index in (1, 2):
        recorder.take(planned(index), capture(), 200)
    recorder.finish()
    read = lines(tmp_path)
    assert [(line.index, line.outcome, line.t_intended_ns, line.t_sent_ns, line.worker) for line in read] == [
        (0, "ok", 150, 50, 3),
        (1, "ok", 150, 50, 3),
        (2, "ok", 150, 50, 3),
    ]
    assert [one.tally is None for one in heard] == [True, False, False]
    assert [one.e2e_s for one in heard] == [2e-7] * 3
    assert heard[1].tally is not None
    assert (heard[1].tally.ok, heard[1].tally.good) == (1, 1)
    assert (recorder.taken, recorder.read) == (3, 3)


def test_nothing_is_left_of_the_spool(tmp_path: Path) -> None:
    recorder = Recorder(order(tmp_path))
    recorder.start()
    recorder.take(planned(0), capture(), 0)
    recorder.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_a_run_without_any_answer_ends_too(tmp_path: Path) -> None:
    recorder = Recorder(order(tmp_path))
    recorder.start()
    recorder.finish()
    assert lines(tmp_path) == []


def test_a_reading_process_that_dies_is_told_and_its_spool_kept(tmp_path: Path) -> None:
    recorder = Recorder(order(tmp_path))
    recorder.start()
    assert recorder._process is not None
    os.kill(recorder._process.pid, signal.SIGKILL)
    recorder._process.wait()
    recorder.take(planned(0), capture(), 0)
    gevent.sleep(0)
    with pytest.raises(Failed, match="0 of 1 answers"):
        recorder.finish()
    assert list((tmp_path / "spool").iterdir())
