"""The engine of the gateway's benchmark: as little work an event as Python can do.

Owns: three kinds of answers. Knows nothing about who asks. The request's path says which:
`/v1/completions` with `"max_tokens": N` and a model of `pace` (50 events/s, streams spread evenly over time),
`flood` (as fast as it is read), `one` (a JSON document at once), `hold` (one event, then silence).
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

EVENT = (
    b'data: {"id":"cmpl-0123456789abcdef0123456789abcdef","object":"text_completion","created":1700000000,'
    b'"model":"pace","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null,'
    b'"stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":null}\n\n'
)
CHUNK = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)
# LiteLLM ends a stream that says the same again and again.
OTHER = CHUNK.replace(b" word", b" else")
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
ONE = json.dumps(
    {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "one",
     "choices": [{"index": 0, "text": " a", "logprobs": None, "finish_reason": "length"}],
     "usage": {"prompt_tokens": 8, "total_tokens": 9, "completion_tokens": 1}}
).encode()  # fmt: skip
ONE_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(ONE),
    ONE,
)
MODELS = json.dumps(
    {"object": "list", "data": [{"id": name, "object": "model"} for name in ("pace", "one")]}
).encode()
BLOCK = 16
TICK_S, TICKS = 0.001, 20


class Engine:
    """The streams that are paced, in twenty groups that take turns."""

    def __init__(self) -> None:
        self.groups: list[dict[Connection, int]] = [{} for _ in range(TICKS)]

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        tick, due = 0, loop.time()
        while True:
            due += TICK_S
            await asyncio.sleep(max(0.0, due - loop.time()))
            group = self.groups[tick % TICKS]
            for connection, left in list(group.items()):
                if left:
                    connection.transport.write(CHUNK if left % 2 else OTHER)
                    group[connection] = left - 1
                else:
                    del group[connection]
                    connection.transport.write(END)
            tick += 1

    def pace(self, connection: Connection, events: int) -> None:
        min(self.groups, key=len)[connection] = events


class Connection(asyncio.Protocol):
    """One connection; requests one after the other."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._buffer = b""
        self._flood = 0
        self._full = False
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._flood = 0
        for group in self._engine.groups:
            group.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if b"transfer-encoding: chunked" in lower:
            if not rest.endswith(b"0\r\n\r\n"):
                return
            length = len(rest)
        if len(rest) < length:
            return
        body, self._buffer = rest[:length], rest[length:]
        self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if not head.startswith(b"POST"):
            self._document(MODELS)
        elif b'"one"' in body:
            self.transport.write(ONE_ANSWER)
        else:
            events = int(
                body.partition(b'"max_tokens"')[2].strip(b" :}").split(b",")[0].split(b"}")[0] or b"1"
            )
            self.transport.write(HEAD + CHUNK)
            if b'"pace"' in body:
                self._engine.pace(self, events - 1)
            elif b'"flood"' in body:
                self._flood = events - 1
                self._more()

    def _document(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._more()

    def _more(self) -> None:
        if self._full or not self._flood:
            return
        events = min(BLOCK, self._flood)
        self._flood -= events
        self.transport.write((CHUNK + OTHER) * (events // 2) + CHUNK * (events % 2))
        if self._flood:
            asyncio.get_running_loop().call_soon(self._more)
        else:
            self.transport.write(END)


async def main(port: int) -> None:
    """Serve until killed."""
    engine = Engine()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(engine), "127.0.0.1", port, backlog=2048
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await engine.run()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
