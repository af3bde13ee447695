"""serving.wire.http1 against responses written by hand, and against h11 as an independent reader."""

from __future__ import annotations

import random

import h11
import pytest

from serving.wire.http1 import BrokenMessage, ResponseFraming, Segment, decode

CHUNKED = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\n"
    b"\r\n"
    b"5\r\nhello\r\n"
    b'1;name="a value"\r\n \r\n'
    b"0C\r\n\r\n0\r\n\r\nworld\r\n"
    b"0\r\nX-Checksum: 1\r\n\r\n"
)
LENGTH = b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nX-Twice: a\r\nx-twice: b\r\n\r\ngone"
UNTIL_CLOSE = b"HTTP/1.0 200 OK\r\nServer: x\r\n\r\nsome\r\n\r\nbytes"
INFORMED = b"HTTP/1.1 100 Continue\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def by_h11(raw: bytes, *, closed: bool) -> tuple[int, bytes, bool]:
    """Status, body and completeness as h11 reads them."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    if closed:
        connection.receive_data(b"")
    status, body = 0, b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return status, body, True
        elif event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return status, body, False


def test_a_chunked_body_is_joined_and_its_bytes_are_found_in_the_raw_ones() -> None:
    response = decode(CHUNKED, closed=False)
    assert (response.status, response.reason, response.complete) == (200, "OK", True)
    assert (
        response.body
        == b"hello \r\n0\r\n\r\nworld"[:6] + b"\r\n0\r\n\r\nworld"[:0] + b"\r\n0\r\n\r\nwor" + b"ld"
    )
    assert response.header("content-type") == "text/event-stream"
    assert response.trailers == (("x-checksum", "1"),)
    # The head is 17 + 33 + 28 + 2 = 80 bytes; then "5\r\n" (3), hello, CRLF and the 18-byte second size line.
    assert response.head_bytes == 80
    assert response.segments[:2] == (Segment(0, 83, 5), Segment(5, 108, 1))
    assert response.leftover == b""


def test_a_body_offset_maps_to_the_raw_offset_just_after_that_byte() -> None:
    response = decode(CHUNKED, closed=False)
    for body_end in range(1, len(response.body) + 1):
        (raw_end,) = response.raw_ends([body_end])
        assert CHUNKED[raw_end - 1] == response.body[body_end - 1]
    assert response.raw_ends([5, 6]) == [88, 109]
    with pytest.raises(ValueError, match="body offset 0"):
        response.raw_ends([0])


def test_a_body_of_known_length_ends_there_and_the_rest_is_left_over() -> None:
    response = decode(LENGTH + b"HTTP/1.1 200", closed=False)
    assert (response.status, response.body, response.complete) == (404, b"gone", True)
    assert response.leftover == b"HTTP/1.1 200"
    assert response.headers[1:] == (("x-twice", "a"), ("x-twice", "b"))


def test_a_body_until_close_is_complete_only_when_closed() -> None:
    assert not decode(UNTIL_CLOSE, closed=False).complete
    response = decode(UNTIL_CLOSE, closed=True)
    assert (response.complete, response.body) == (True, b"some\r\n\r\nbytes")


def test_an_informational_response_is_passed_over() -> None:
    response = decode(INFORMED, closed=False)
    assert (response.status, response.body, response.header("a")) == (200, b"ok", None)
    assert response.head_bytes == len(INFORMED) - 2


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_ends_with_its_head(status: int) -> None:
    raw = b"HTTP/1.1 %d X\r\ncontent-length: 9\r\n\r\n" % status
    assert decode(raw, closed=False).complete


@pytest.mark.parametrize("raw", [CHUNKED, LENGTH], ids=["chunked", "length"])
def test_a_response_cut_anywhere_is_incomplete_and_agrees_with_h11_on_the_body(raw: bytes) -> None:
    for end in range(len(raw)):
        response = decode(raw[:end], closed=False)
        assert not response.complete
        if response.head_bytes is not None:
            assert (response.status, response.body) == by_h11(raw[:end], closed=False)[:2]
        assert not decode(raw[:end], closed=True).complete


@pytest.mark.parametrize("raw", [CHUNKED, LENGTH, UNTIL_CLOSE, INFORMED])
def test_reading_in_pieces_gives_what_h11_gives_at_once(raw: bytes) -> None:
    chance = random.Random(7)
    expected = by_h11(raw, closed=True)
    for _ in range(200):
        cuts = sorted(chance.randint(0, len(raw)) for _ in range(chance.randint(0, 9)))
        framing = ResponseFraming()
        for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            framing.feed(raw[start:end])
        framing.close()
        body = b"".join(raw[part.raw_start : part.raw_start + part.length] for part in framing.segments)
        assert (framing.status, body, framing.complete) == expected, cuts


def test_the_read_that_completes_a_message_is_the_one_that_says_so() -> None:
    framing = ResponseFraming()
    assert [framing.feed(CHUNKED[at : at + 1]) for at in range(len(CHUNKED))].index(True) == len(CHUNKED) - 1


def test_a_chunk_spread_over_reads_stays_one_segment() -> None:
    framing = ResponseFraming()
    for at in range(len(LENGTH)):
        framing.feed(LENGTH[at : at + 1])
    assert framing.segments == [Segment(0, len(LENGTH) - 4, 4)]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"SSH-2.0-x\r\n", "not an HTTP/1.1 status line"),
        (b"HTTP/1.1 abc\r\n", "not an HTTP/1.1 status line"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n", "not a header line"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "content-length"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "content-length"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x5\r\n", "not a chunk size"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n", "not a chunk size"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "longer than it said"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000, "a line of more than"),
    ],
)
def test_bytes_that_are_no_response_are_refused(raw: bytes, said: str) -> None:
    with pytest.raises(BrokenMessage, match=said):
        decode(raw, closed=False)
