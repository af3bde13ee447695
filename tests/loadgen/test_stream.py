from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import gevent
import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, Script, cut, stream

from loadgen.parse import Capture, record
from loadgen.records import Planned, RequestRecord
from loadgen.stream import Connections, Cut, TooSlow, exchange
from loadgen.target import parse_target, request_bytes
from serving.errors import Failed

PLANNED = Planned(0, "measure", None, "any", "/v1/chat/completions", {})
Ask = Callable[[str], RequestRecord]


@contextmanager
def connected(url: str) -> Iterator[Connections]:
    connections = Connections.to(parse_target(url), connect_timeout_s=5)
    yield connections
    connections.close()


def request(connections: Connections, model: str) -> bytes:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 3}
    return request_bytes(connections.target, "/v1/chat/completions", body, request_id="r")


def ask(connections: Connections, model: str = "scripted") -> tuple[RequestRecord, Capture]:
    capture = Capture(t_sent_ns=0)
    exchange(connections, request(connections, model), capture)
    return record(capture, PLANNED, origin_ns=0, measure_start_ns=0), capture


def test_a_stream_is_read_whole_with_a_stamp_for_every_read(engine: ScriptedEngine) -> None:
    with connected(engine.url) as connections:
        made, capture = ask(connections)
    assert (made.outcome, made.events["content"]) == ("ok", 3)
    assert len(capture.stamps) == len(capture.parts)
    assert capture.stamps == sorted(capture.stamps)
    assert capture.t_sent_ns < capture.stamps[0]
    assert capture.t_end_ns == capture.stamps[-1]


def test_stamps_are_never_before_the_server_wrote_what_they_stamp(engine: ScriptedEngine) -> None:
    with connected(engine.url) as connections:
        made, _ = ask(connections)
    (seen,) = engine.exchanges(expect=1)
    written = [sent.t_ns for sent in seen.sent if sent.kind == "content"]
    assert all(stamp > wrote for stamp, wrote in zip(made.output_ns, written, strict=True))


def test_a_connection_is_used_again(engine: ScriptedEngine) -> None:
    with connected(engine.url) as connections:
        ask(connections)
        first = connections.take()
        connections.give_back(first)
        ask(connections)
        again = connections.take()
        assert again is first
        again.close()


@pytest.mark.slow
def test_a_connection_that_the_server_closed_meanwhile_is_not_used(engine: ScriptedEngine) -> None:
    with ScriptedEngine.start() as first, connected(first.url) as connections:
        assert ask(connections)[0].outcome == "ok"
        first.process.kill()
        first.process.wait()
        with ScriptedEngine.start("--port", str(first.port)):
            assert ask(connections)[0].outcome == "ok"


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_both_framings_of_a_stream_end_where_they_should(engine: ScriptedEngine, framing: str) -> None:
    whole = stream("framed", ttft_s=0.0, gap_s=0.0)
    engine.define(Script("framed", whole.steps, framing=framing))  # type: ignore[arg-type]
    with connected(engine.url) as connections:
        made, capture = ask(connections, "framed")
    assert made.outcome == "ok"
    assert capture.closed is (framing == "close")


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_cut_in_mid_answer_is_a_failure_that_keeps_what_came(
    engine: ScriptedEngine, how: str
) -> None:
    # The pause lets the client read what was sent before the reset throws it away.
    engine.define(cut(stream("cut", ttft_s=0.0, gap_s=0.0), keep=3, how=how, after_s=0.2))  # type: ignore[arg-type]
    with connected(engine.url) as connections:
        made, _ = ask(connections, "cut")
    assert made.outcome == "failed"
    assert made.error
    assert len(made.output_ns) == 2


def test_nobody_listening_is_a_failure_and_no_exception() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    with connected(f"http://127.0.0.1:{port}") as connections:
        made, _ = ask(connections)
    assert made.outcome == "failed"
    assert "refused" in str(made.error)


@pytest.mark.parametrize(("thrown", "outcome"), [(Cut(), "cut"), (TooSlow("nothing came for 1 s"), "failed")])
def test_an_exchange_can_be_ended_from_outside(
    engine: ScriptedEngine, thrown: BaseException, outcome: str
) -> None:
    events = Events()
    steps = (events.role(0.0), events.content(0.0, "a"))
    engine.define(Script("hangs", steps, end="hang"))
    capture = Capture(t_sent_ns=0)
    with connected(engine.url) as connections:
        running = gevent.spawn(exchange, connections, request(connections, "hangs"), capture)
        while not capture.parts:
            gevent.sleep(0.005)
        gevent.sleep(0.05)
        running.kill(thrown)
        assert connections._idle == []
    made = record(capture, PLANNED, origin_ns=0, measure_start_ns=0)
    assert made.outcome == outcome
    assert json.loads(made.to_json())["events"]["content"] == 1


def test_a_name_that_does_not_exist_is_told_before_the_run() -> None:
    with pytest.raises(Failed, match="cannot be resolved"):
        Connections.to(parse_target("http://no-such-host.invalid:1"), connect_timeout_s=1)


def test_a_peer_that_speaks_no_http_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"SSH-2.0-x\r\n")
                peer.recv(65_536)

        thread = Thread(target=greet)
        thread.start()
        with connected(f"http://127.0.0.1:{server.getsockname()[1]}") as connections:
            made, _ = ask(connections)
        thread.join()
    assert made.outcome == "failed"
    assert "not an HTTP answer" in str(made.error)
