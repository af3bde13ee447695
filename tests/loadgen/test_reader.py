"""Bytes are written by hand into one end of a socket pair; what the reader makes of them is asserted."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence

import gevent
import pytest

from loadgen.parse import Capture
from loadgen.reader import Reader
from serving.wire.http1 import BrokenMessage

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CLOSING_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
Pair = tuple[socket.socket, socket.socket]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


A = chunk(b"data: a\n\n")
END = b"0\r\n\r\n"


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def read(pair: Pair, writes: Sequence[bytes], *, close: bool = False) -> tuple[bool, Capture, Reader]:
    """Write one by one, each when the one before was seen; close after the last if asked to."""
    ours, theirs = pair
    capture = Capture(0)
    reader = Reader(ours.fileno(), capture)
    running = gevent.spawn(reader.read)
    for number, data in enumerate(writes, start=1):
        theirs.sendall(data)
        while len(capture.parts) < number and not running.dead:
            gevent.sleep(0.001)
    if close:
        theirs.close()
    return running.get(timeout=10), capture, reader


def test_every_read_is_kept_with_a_stamp(pair: Pair) -> None:
    whole, capture, reader = read(pair, [HEAD, A, A + A, END])
    assert whole
    assert reader.keeps_alive
    assert capture.parts == [HEAD, A, A + A, END]
    assert capture.stamps == sorted(capture.stamps)
    assert len(capture.stamps) == 4


@pytest.mark.parametrize(
    "writes",
    [
        [HEAD + A + END],
        [HEAD, A + END],
        [HEAD, A, b"0\r\n", b"\r\n"],
        [HEAD, A, b"0", b"\r\n\r", b"\n"],
        [HEAD, A[:6], A[6:-1], A[-1:] + END],
        [HEAD, A, b"0\r\nx-trailer: 1\r\n\r\n"],
        [HEAD[:30], HEAD[30:], chunk(b"data: a\r\n\r\n"), END],
        [HEAD, A, chunk(b"data: 10\r\n\r\n"), A, END],
    ],
)
def test_the_end_is_seen_however_the_bytes_are_split(pair: Pair, writes: list[bytes]) -> None:
    whole, capture, _ = read(pair, writes)
    assert whole
    assert b"".join(capture.parts) == b"".join(writes)
    assert not capture.closed


def test_an_event_that_looks_like_the_last_chunk_does_not_end_the_answer(pair: Pair) -> None:
    # A read that is cut right after the text of an event that reads like the end of a chunked body.
    event = chunk(b"data: x\n\n0\r\n\r\nrest\n\n")
    cut = event.index(b"rest")
    whole, capture, _ = read(pair, [HEAD, event[:cut], event[cut:], END])
    assert whole
    assert len(capture.parts) == 4


def test_a_body_that_ends_with_the_connection_is_whole_when_it_closes(pair: Pair) -> None:
    whole, capture, reader = read(pair, [CLOSING_HEAD, b"data: a\n\n"], close=True)
    assert whole
    assert capture.closed
    assert not reader.keeps_alive


def test_a_connection_that_closes_in_mid_answer_is_not_whole(pair: Pair) -> None:
    whole, capture, _ = read(pair, [HEAD, A, A], close=True)
    assert not whole
    assert capture.parts == [HEAD, A, A]


def test_an_answer_with_a_length_ends_with_its_last_byte(pair: Pair) -> None:
    head = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\n\r\n"
    whole, _, reader = read(pair, [head + b"no", b"pe"])
    assert whole
    assert reader.keeps_alive


def test_what_is_no_http_is_raised(pair: Pair) -> None:
    with pytest.raises(BrokenMessage):
        read(pair, [b"SSH-2.0-x\r\n"])


def test_a_reader_that_is_ended_from_outside_stops_watching(pair: Pair) -> None:
    ours, theirs = pair
    capture = Capture(0)
    running = gevent.spawn(Reader(ours.fileno(), capture).read)
    gevent.sleep(0.01)
    running.kill()
    theirs.sendall(HEAD)
    gevent.sleep(0.02)
    assert capture.parts == []
