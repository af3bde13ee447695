"""The load of the gateway's benchmark: raw connections that count and stamp, and do little else.

Owns: sending requests and seeing answers end. Knows nothing about proxies.
"""

from __future__ import annotations

import asyncio
import time


def request(model: str, tokens: int, *, stream: bool) -> bytes:
    """A request for a completion."""
    body = b'{"model":"%b","prompt":"hello hello hello","stream":%b,"max_tokens":%d}' % (
        model.encode(), b"true" if stream else b"false", tokens,
    )  # fmt: skip
    return (
        b"POST /v1/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer sk-1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    )


class Client(asyncio.Protocol):
    """One connection. `events` counts what came; `ended` is done when `mark` came."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport
        self.events = 0
        self.first_ns = 0
        self.first = loop.create_future()
        self.ended = loop.create_future()
        self.mark = b"[DONE]"
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.events += data.count(b'"text_completion"')
        if self.events and not self.first_ns:
            self.first_ns = time.perf_counter_ns()
            if not self.first.done():
                self.first.set_result(None)
        tail = self._tail + data[-16:]
        if (self.mark in data or self.mark in tail) and not self.ended.done():
            self.ended.set_result(None)
        self._tail = data[-8:]

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.first, self.ended):
            if not future.done():
                future.set_exception(ConnectionError("the connection ended before the answer"))
                future.exception()

    def ask(self, data: bytes, mark: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.first_ns, self.mark, self._tail = 0, mark, b""
        self.first, self.ended = loop.create_future(), loop.create_future()
        self.transport.write(data)


async def connect(url: str) -> Client:
    host, _, port = url.removeprefix("http://").rpartition(":")
    _, client = await asyncio.get_running_loop().create_connection(Client, host, int(port))
    return client


async def ttft_s(client: Client) -> float:
    """Seconds to the first event of a stream of three, on a connection that is kept."""
    began = time.perf_counter_ns()
    client.ask(request("flood", 3, stream=True), b"[DONE]")
    async with asyncio.timeout(20):
        await client.ended
    client.events = 0
    return (client.first_ns - began) / 1e9


async def open_streams(url: str, model: str, tokens: int, count: int) -> list[Client]:
    """Streams that have begun."""
    clients: list[Client] = []
    try:
        async with asyncio.timeout(60):
            for _ in range(count):
                client = await connect(url)
                clients.append(client)
                client.ask(request(model, tokens, stream=True), b"[DONE]")
            await asyncio.gather(*(client.first for client in clients))
    except TimeoutError:
        close(clients)
        raise
    return clients


def close(clients: list[Client]) -> None:
    for client in clients:
        client.transport.abort()


async def small_answers(url: str, for_s: float, at_once: int) -> int:
    """How many one-token answers come within this time, over connections that stay open."""
    done = 0
    until = time.perf_counter() + for_s
    data = request("one", 1, stream=False)

    async def one() -> None:
        nonlocal done
        client = await connect(url)
        while time.perf_counter() < until:
            client.ask(data, b"completion_tokens")
            async with asyncio.timeout(20):
                await client.ended
            done += 1
        client.transport.abort()

    await asyncio.gather(*(one() for _ in range(at_once)))
    return done
