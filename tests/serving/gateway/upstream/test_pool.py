"""Connections to engines, kept and replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from serving.gateway.upstream.answer import Broke, CannotConnect, NotHttp
from serving.gateway.upstream.pool import Pool, origin

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Server:
    """Answers requests by a list of answers; None closes the connection instead."""

    def __init__(self) -> None:
        self.answers: list[bytes | None] = []
        self.connections = 0
        self.url = ""
        self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                answer = self.answers.pop(0)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    made = Pool(connect_s=1, idle_s=5)
    yield made
    await made.close()


async def ask(pool: Pool, url: str) -> tuple[bytes, bool]:
    sent = await pool.ask(url, "GET", "/", {}, None, lambda answer: None)
    return await sent.answer.read(100), sent.reused


async def test_a_connection_is_used_again(server: Server, pool: Pool) -> None:
    server.answers = [OK, OK]
    assert await ask(pool, server.url) == (b"hi", False)
    assert await ask(pool, server.url) == (b"hi", True)
    assert server.connections == 1


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced(server: Server, pool: Pool) -> None:
    server.answers = [OK, None, OK]
    await ask(pool, server.url)
    assert await ask(pool, server.url) == (b"hi", False)
    assert (server.connections, server.requests) == (2, 3)


async def test_a_new_connection_that_closes_is_a_failure(server: Server, pool: Pool) -> None:
    server.answers = [None]
    with pytest.raises(Broke):
        await ask(pool, server.url)
    assert server.requests == 1


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", OK + b"more"]
)
async def test_a_connection_that_cannot_be_kept_is_not(server: Server, pool: Pool, said: bytes) -> None:
    server.answers = [said, OK]
    await ask(pool, server.url)
    assert await ask(pool, server.url) == (b"hi", False)


async def test_a_connection_that_was_idle_for_long_is_not_trusted(server: Server) -> None:
    pool = Pool(connect_s=1, idle_s=0.01)
    server.answers = [OK, OK]
    await ask(pool, server.url)
    await asyncio.sleep(0.05)
    assert await ask(pool, server.url) == (b"hi", False)
    await pool.close()


async def test_an_answer_given_up_closes_its_connection(server: Server, pool: Pool) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhi", OK]
    sent = await pool.ask(server.url, "GET", "/", {}, None, lambda answer: None)
    sent.answer.close()
    with pytest.raises(Broke):
        await sent.answer.read(100)
    assert await ask(pool, server.url) == (b"hi", False)


async def test_a_long_error_is_read_only_as_far_as_asked(server: Server, pool: Pool) -> None:
    server.answers = [b"HTTP/1.1 500 X\r\ncontent-length: 1000000\r\n\r\n" + b"e" * 2000]
    sent = await pool.ask(server.url, "GET", "/", {}, None, lambda answer: None)
    assert await sent.answer.read(10) == b"e" * 10


async def test_nobody_there_is_said_so(pool: Pool) -> None:
    with pytest.raises(CannotConnect) as caught:
        await ask(pool, "http://127.0.0.1:1")
    assert not caught.value.timed_out


async def test_garbage_is_not_http(server: Server, pool: Pool) -> None:
    server.answers = [b"\x00\x01garbage\r\n\r\n"]
    with pytest.raises(NotHttp):
        await ask(pool, server.url)


def test_addresses_are_taken_apart() -> None:
    plain = origin("http://127.0.0.1:8000")
    assert (plain.host, plain.port, plain.secure, plain.header, plain.base) == (
        "127.0.0.1", 8000, False, "127.0.0.1:8000", "",
    )  # fmt: skip
    below = origin("https://user:pw@api.example/openai/")
    assert (below.port, below.secure, below.header, below.base) == (443, True, "api.example", "/openai")
    with pytest.raises(ValueError, match="is not an address"):
        origin("127.0.0.1:8000")
