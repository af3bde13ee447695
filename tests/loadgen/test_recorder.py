from __future__ import annotations

import io

import gevent

from loadgen.parse import Capture
from loadgen.recorder import Recorder
from loadgen.records import Planned, RequestRecord

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
EVENT = b'data: {"choices":[{"delta":{"content":"b"}}]}\n\n'


def capture(events: int = 1) -> Capture:
    data = HEAD + EVENT * events + b"data: [DONE]\n\n"
    made = Capture(t_sent_ns=100, t_end_ns=300, parts=[data], stamps=[300], ends=[len(data)], closed=True)
    made.framing.feed(data)
    made.framing.close()
    return made


def planned(index: int) -> Planned:
    return Planned(index, "measure", 0, "any", "/", {})


def test_every_capture_becomes_a_line_and_is_heard_of() -> None:
    out, heard = io.StringIO(), list[RequestRecord]()
    recorder = Recorder(out, origin_ns=50, heard=heard.append)
    recorder.start()
    for index in range(3):
        recorder.take(planned(index), capture(), 200)
    recorder.finish()
    lines = [RequestRecord.from_json(line) for line in out.getvalue().splitlines()]
    assert lines == heard
    assert [(line.index, line.outcome, line.t_intended_ns, line.t_sent_ns) for line in lines] == [
        (0, "ok", 150, 50),
        (1, "ok", 150, 50),
        (2, "ok", 150, 50),
    ]
    assert recorder.slice_max_s > 0


def test_other_greenlets_get_their_turn_while_a_long_answer_is_read() -> None:
    turns = 0

    def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            gevent.sleep(0)

    recorder = Recorder(io.StringIO(), origin_ns=0)
    recorder.start()
    recorder.take(planned(0), capture(events=5_000), 0)  # 225 kB: 55 slices
    running = gevent.spawn(other)
    recorder.finish()
    running.kill()
    assert turns >= 50
