"""Answers as bytes, cut at every place."""

from __future__ import annotations

import pytest

from serving.gateway.upstream.framing import (
    Framing,
    Head,
    Nonsense,
    parse_head,
    request_head,
    unframed,
    whole_chunks,
)

CHUNKED = Head(200, {"transfer-encoding": "chunked"}, keep_alive=True)
FRAMED = b"5\r\nhello\r\n1;ext=1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n"


def body(framing: Framing, *pieces: bytes) -> bytes:
    out = b""
    for piece in pieces:
        for framed, data in framing.feed(piece):
            out += unframed(data) if framed else data
    return out


@pytest.mark.parametrize("cut", range(len(FRAMED) + 1))
def test_a_chunked_body_is_the_same_wherever_it_is_cut(cut: int) -> None:
    framing = Framing(CHUNKED)
    assert body(framing, FRAMED[:cut], FRAMED[cut:]) == b"hello world"
    assert framing.complete
    assert not framing.leftover


def test_a_chunked_body_may_come_byte_by_byte() -> None:
    framing = Framing(CHUNKED)
    assert body(framing, *(FRAMED[at : at + 1] for at in range(len(FRAMED)))) == b"hello world"
    assert framing.complete


def test_whole_chunks_are_recognized_as_they_came() -> None:
    two = b"3\r\nabc\r\n2\r\nde\r\n"
    assert Framing(CHUNKED).feed(two + b"4\r\nf") == [(True, two), (False, b"f")]
    assert whole_chunks(b"xx" + two, 2) == len(two) + 2
    assert whole_chunks(two + b"0\r\n\r\n") == len(two)
    assert whole_chunks(b"3\r\nabcXX") == 0


def test_after_a_torn_chunk_whole_ones_are_recognized_again() -> None:
    # Else a long read that begins inside a chunk would be forwarded event by event.
    framing, two = Framing(CHUNKED), b"3\r\nabc\r\n2\r\nde\r\n"
    framing.feed(b"4\r\nwo")
    assert framing.feed(b"rd\r\n" + two + b"5\r\nto") == [(False, b"rd"), (True, two), (False, b"to")]


@pytest.mark.parametrize("broken", [b"x\r\n", b"-1\r\n", b"0x5\r\n", b"3\r\nabcX\r\n", b"5" * 9000])
def test_broken_chunks_are_nonsense(broken: bytes) -> None:
    with pytest.raises(Nonsense):
        Framing(CHUNKED).feed(broken)


def test_a_body_of_known_length_ends_there_and_more_is_noticed() -> None:
    framing = Framing(Head(200, {"content-length": "3"}, keep_alive=True))
    assert body(framing, b"ab", b"cd") == b"abc"
    assert framing.complete
    assert framing.leftover


@pytest.mark.parametrize(
    ("status", "headers", "no_body"),
    [(204, {}, False), (304, {}, False), (200, {"content-length": "0"}, False), (200, {}, True)],
)
def test_some_answers_have_no_body(status: int, headers: dict[str, str], no_body: bool) -> None:
    assert Framing(Head(status, headers, keep_alive=True), no_body=no_body).complete


def test_a_body_without_framing_ends_with_the_connection() -> None:
    framing = Framing(Head(200, {}, keep_alive=True))
    assert body(framing, b"any", b"thing") == b"anything"
    assert framing.until_close


def test_a_length_that_is_no_number_is_nonsense() -> None:
    with pytest.raises(Nonsense):
        Framing(Head(200, {"content-length": "5, 5"}, keep_alive=True))


def test_a_head_is_read_with_names_in_lower_case() -> None:
    head = parse_head(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After:  7 \r\nX:")
    assert (head.status, dict(head.headers), head.keep_alive) == (503, {"retry-after": "7", "x": ""}, True)


@pytest.mark.parametrize(
    ("raw", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: Close", False),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive", True),
    ],
)
def test_who_closes_is_seen(raw: bytes, keeps: bool) -> None:
    assert parse_head(raw).keep_alive is keeps


@pytest.mark.parametrize(
    "raw", [b"", b"HTTP/2 200", b"HTTP/1.1 20 OK", b"garbage", b"HTTP/1.1 200 OK\r\nno colon"]
)
def test_what_is_no_head_is_nonsense(raw: bytes) -> None:
    with pytest.raises(Nonsense):
        parse_head(raw)


def test_a_request_head_has_its_length_and_the_clients_own_bytes() -> None:
    head = request_head("POST", "/v1/x", "h:1", {"User-Agent": "\udcff"}, b"abc")
    assert head == b"POST /v1/x HTTP/1.1\r\nHost: h:1\r\nUser-Agent: \xff\r\nContent-Length: 3\r\n\r\n"
    assert b"Content-Length" not in request_head("GET", "/", "h", {}, None)
