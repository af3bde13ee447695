"""One connection to an engine, driven by hand."""

from __future__ import annotations

import asyncio

import pytest

from serving.gateway.upstream.answer import Broke, NotHttp
from serving.gateway.upstream.connection import MAX_READ_BYTES, UpstreamConnection

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class Wire(asyncio.Transport):
    """Keeps what is written, and whether reading is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.aborted = False
        self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Sink:
    """Keeps what it is given, framed or not."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def framed(self, chunks: bytes) -> None:
        self.seen.append(chunks)

    def part(self, data: bytes) -> None:
        self.seen.append(data)


def connected() -> tuple[UpstreamConnection, Wire, list[UpstreamConnection]]:
    released: list[UpstreamConnection] = []
    connection, wire = UpstreamConnection(released.append), Wire()
    connection.connection_made(wire)
    return connection, wire, released


def sent(connection: UpstreamConnection, body: bytes | None = None):
    return connection.send(b"HEAD", body, no_body=False, loop=asyncio.get_running_loop())


async def test_bytes_reach_the_receiver_within_the_sockets_own_call() -> None:
    connection, _, released = connected()
    answer, sink = sent(connection), Sink()
    connection.data_received(CHUNKED)
    assert (await answer.headed).status == 200
    answer.deliver_to(sink)
    connection.data_received(b"3\r\nabc\r\n")
    assert sink.seen == [b"3\r\nabc\r\n"]
    assert released == []
    connection.data_received(b"0\r\n\r\n")
    assert answer.is_whole
    assert released == [connection]
    assert connection.usable


async def test_what_comes_before_there_is_a_receiver_waits_and_much_of_it_is_not_read() -> None:
    connection, wire, _ = connected()
    answer, sink = sent(connection), Sink()
    connection.data_received(CHUNKED + b"3\r\nabc\r\n")
    assert answer.waiting() == b"abc"
    connection.data_received(b"11170\r\n" + b"x" * 70_000 + b"\r\n")
    assert wire.paused
    answer.deliver_to(sink)
    assert not wire.paused
    assert len(b"".join(sink.seen)) == 8 + 70_009


async def test_informational_answers_are_passed_over() -> None:
    connection, _, _ = connected()
    answer = sent(connection)
    connection.data_received(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    assert (await answer.headed).status == 200
    assert answer.is_whole


async def test_an_end_in_the_middle_fails_the_answer() -> None:
    connection, _, released = connected()
    answer = sent(connection)
    connection.data_received(CHUNKED)
    connection.connection_lost(None)
    with pytest.raises(Broke):
        await answer.finished
    assert released == [connection]
    assert not connection.usable


async def test_an_end_without_framing_is_the_end_of_the_body_unless_it_is_a_reset() -> None:
    for exc, whole in ((None, True), (ConnectionResetError(), False)):
        connection, _, _ = connected()
        answer = sent(connection)
        connection.data_received(b"HTTP/1.1 200 OK\r\n\r\nabc")
        connection.connection_lost(exc)
        assert answer.is_whole is whole


async def test_an_endless_head_is_not_http() -> None:
    connection, wire, _ = connected()
    answer = sent(connection)
    connection.data_received(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000)
    with pytest.raises(NotHttp):
        await answer.headed
    assert wire.aborted


async def test_an_engine_that_speaks_unasked_is_cut() -> None:
    connection, wire, _ = connected()
    connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    assert wire.aborted


async def test_a_small_body_leaves_with_its_head() -> None:
    connection, wire, _ = connected()
    sent(connection, b"body")
    assert wire.written == b"HEADbody"


async def test_giving_up_cuts_the_connection_but_not_after_a_whole_answer() -> None:
    for said, cut in ((CHUNKED, True), (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", False)):
        connection, wire, _ = connected()
        answer = sent(connection)
        connection.data_received(said)
        answer.close()
        assert wire.aborted is cut


async def test_more_of_an_answer_can_be_waited_for() -> None:
    connection, _, _ = connected()
    answer = sent(connection)
    connection.data_received(CHUNKED)
    waiting = asyncio.ensure_future(answer.more())
    await asyncio.sleep(0)
    assert not waiting.done()
    connection.data_received(b"3\r\nabc\r\n")
    await waiting
    connection.connection_lost(None)
    await answer.more()


def arrive(connection: UpstreamConnection, data: bytes) -> None:
    """Bring bytes as an event loop does."""
    connection.get_buffer(-1)[: len(data)] = data
    connection.buffer_updated(len(data))


async def test_one_that_has_more_than_a_read_lets_others_come_first() -> None:
    connection, wire, _ = connected()
    answer = sent(connection)
    sink = Sink()
    answer.deliver_to(sink)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
    arrive(connection, head + b"x" * (MAX_READ_BYTES - len(head)))
    assert wire.paused
    await asyncio.sleep(0)
    assert not wire.paused
    arrive(connection, b"y" * (100_000 - MAX_READ_BYTES + len(head)))
    assert not wire.paused
    assert len(b"".join(sink.seen)) == 100_000
    assert answer.is_whole


async def test_coming_back_for_more_does_not_undo_a_receivers_pause() -> None:
    connection, wire, _ = connected()
    answer = sent(connection)
    answer.deliver_to(Sink())
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
    arrive(connection, head + b"x" * (MAX_READ_BYTES - len(head)))
    answer.pause()
    await asyncio.sleep(0)
    assert wire.paused
    answer.resume()
    assert not wire.paused


async def test_two_connections_share_the_place_where_bytes_arrive_and_not_the_bytes() -> None:
    sinks = [Sink(), Sink()]
    for number, sink in enumerate(sinks):
        connection, _, _ = connected()
        sent(connection).deliver_to(sink)
        arrive(connection, b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n%d" % number)
    assert [sink.seen for sink in sinks] == [[b"0"], [b"1"]]
