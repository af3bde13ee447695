"""Heads of forwarded answers, as bytes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiohttp import HttpVersion10, HttpVersion11

from serving.gateway.wire_head import Forwarded, framing, head_bytes

STREAM = {"Content-Type": "text/event-stream"}
SIZED = {"Content-Type": "application/json", "Content-Length": "2"}


def asked(version=HttpVersion11, *, keep_alive: bool = True):
    return SimpleNamespace(version=version, keep_alive=keep_alive)


@pytest.mark.parametrize(
    ("request_", "status", "headers", "decided"),
    [
        pytest.param(asked(), 200, STREAM, (True, True), id="a stream comes in chunks"),
        pytest.param(asked(), 200, SIZED, (False, True), id="a document has its length"),
        pytest.param(asked(keep_alive=False), 200, STREAM, (True, False), id="who closes is closed"),
        pytest.param(asked(HttpVersion10), 200, STREAM, (False, False), id="HTTP/1.0 knows no chunks"),
        pytest.param(asked(HttpVersion10), 200, SIZED, (False, True), id="but may keep a connection"),
        pytest.param(asked(), 204, {}, (False, True), id="no body has no chunks"),
    ],
)
def test_how_a_body_is_framed(
    request_, status: int, headers: dict[str, str], decided: tuple[bool, bool]
) -> None:
    assert framing(request_, status, headers) == decided


def test_a_head_is_whole_and_says_how_the_body_ends() -> None:
    head = head_bytes(asked(), 200, STREAM, chunked=True, keep_alive=True)
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert first == b"HTTP/1.1 200 OK"
    assert lines[:2] == [b"Content-Type: text/event-stream", b"Transfer-Encoding: chunked"]
    assert lines[2].startswith(b"Date: ")
    assert lines[2].endswith(b" GMT")
    assert len(lines) == 3


def test_a_connection_that_ends_or_an_old_one_that_does_not_is_said() -> None:
    assert b"\r\nConnection: close\r\n" in head_bytes(asked(), 200, SIZED, chunked=False, keep_alive=False)
    old = head_bytes(asked(HttpVersion10), 200, SIZED, chunked=False, keep_alive=True)
    assert old.startswith(b"HTTP/1.0 200 OK\r\n")
    assert b"\r\nConnection: keep-alive\r\n" in old


async def test_aiohttp_has_nothing_left_to_write() -> None:
    response = Forwarded(200, keep_alive=True)
    assert response.prepared
    assert await response.prepare(asked()) is None
    await response.write_eof(b"never")
    assert response.keep_alive
    response.force_close()
    assert not response.keep_alive
