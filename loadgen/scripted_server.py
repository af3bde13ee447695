"""The built-in scripted server: streams of known events at known times, to measure generators with.

Owns: a process that serves thousands of streams from one core, and its own account of what it wrote when.
Knows nothing about who reads. Stamps are `perf_counter_ns`, which all processes of a machine share.

    python -m loadgen.scripted_server --port 8000 --ttft 0.2 --gap 0.02

One thread, one tick each millisecond: whatever is due in it is written straight to the sockets. Each
stream keeps its own phase, so that arrivals of the load are also arrivals of the events.
"""

from __future__ import annotations

import argparse
import os
import selectors
import signal
import socket
import sys
import time
from array import array
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from loadgen import scripted_answers as answers
from loadgen.priority import go_first

TICK_NS = 1_000_000
BACKLOG = 4096
READ_BYTES = 65_536


@dataclass(slots=True, eq=False)
class Stream:
    """One answer under way, and what was written of it when."""

    request_id: str
    t_received_ns: int
    events: list[bytes]
    tail: bytes
    """What closes the answer: finish, usage, [DONE] and the end of the chunks."""
    left: int
    writes: array[int] = field(default_factory=lambda: array("q"))
    connection: Connection | None = None
    """None once the client has gone."""

    def row(self) -> dict[str, Any]:
        """What a test compares with: the write of every event with a token."""
        return {
            "request_id": self.request_id,
            "t_received_ns": self.t_received_ns,
            "writes_ns": self.writes.tolist(),
            "whole": not self.left,
        }


@dataclass(slots=True, eq=False)
class Connection:
    """A client's connection: bytes of its next request, and what its full socket did not take."""

    sock: socket.socket
    received: bytes = b""
    unsent: bytes = b""
    stream: Stream | None = None

    def send(self, data: bytes) -> None:
        """Write now what the socket takes; the rest goes out before the next write."""
        data = self.unsent + data if self.unsent else data
        try:
            taken = self.sock.send(data)
        except BlockingIOError:
            taken = 0
        self.unsent = data[taken:] if taken < len(data) else b""

    def send_whole(self, data: bytes) -> None:
        """Write all of it, however long that takes: nothing is measured meanwhile."""
        self.sock.setblocking(True)
        with suppress(OSError):
            self.sock.sendall(data)
        self.sock.setblocking(False)


class ScriptedServer:
    """Serves until `stop`. `ttft_s` is from the request's last byte to the first token."""

    def __init__(self, listener: socket.socket, *, ttft_s: float, gap_s: float, tokens: int) -> None:
        self._listener = listener
        self._ttft_ns, self._gap_ticks = round(ttft_s * 1e9), max(1, round(gap_s * 1e9 / TICK_NS))
        self._tokens = tokens
        self._selector = selectors.DefaultSelector()
        self._due: defaultdict[int, list[Stream]] = defaultdict(list)
        self._served: list[Stream] = []
        self._open = 0
        self._most_open = 0
        self._running = True
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)

    def stop(self, *_: object) -> None:
        """End after this tick."""
        self._running = False

    def run(self) -> None:
        """Serve: sockets that are readable, then whatever is due."""
        tick = time.perf_counter_ns() // TICK_NS
        while self._running:
            left_ns = (tick + 1) * TICK_NS - time.perf_counter_ns()
            for key, _ in self._selector.select(max(0.0, left_ns / 1e9)):
                if key.data is None:
                    self._accept()
                else:
                    self._read(key.data)
            now_tick = time.perf_counter_ns() // TICK_NS
            while tick < now_tick:
                tick += 1
                if streams := self._due.pop(tick, None):
                    self._write(streams, tick)

    def _write(self, streams: list[Stream], tick: int) -> None:
        now, again = time.perf_counter_ns, self._due[tick + self._gap_ticks]
        for stream in streams:
            connection = stream.connection
            if connection is None:
                continue
            number = len(stream.writes)
            stream.left -= 1
            data = stream.events[number] if stream.left else stream.events[number] + stream.tail
            stream.writes.append(now())
            try:
                connection.send(data)
            except OSError:
                self._gone(connection)
                continue
            if stream.left:
                again.append(stream)
            else:
                stream.connection = None
                connection.stream = None
                self._open -= 1

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                sock, _ = self._listener.accept()
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._selector.register(sock, selectors.EVENT_READ, Connection(sock))

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._gone(connection)
            return
        connection.received += data
        while (asked := answers.next_request(connection.received)) is not None:
            connection.received = connection.received[asked.size :]
            self._answer(connection, asked)

    def _answer(self, connection: Connection, asked: answers.Asked) -> None:
        now = time.perf_counter_ns()
        if asked.path == "/_served":
            connection.send_whole(answers.whole([stream.row() for stream in self._served]))
        elif asked.path == "/_marks":
            connection.send_whole(answers.whole(self._marks()))
        elif asked.path == "/_forget":
            self._served, self._most_open = [], self._open
            connection.send_whole(answers.whole({}))
        elif not asked.streams:
            connection.send_whole(answers.whole_answer(asked, self._tokens))
        else:
            made = answers.streamed(asked, self._tokens)
            connection.send(made.head)
            stream = Stream(asked.request_id, now, made.events, made.tail, len(made.events))
            stream.connection, connection.stream = connection, stream
            self._served.append(stream)
            self._open += 1
            self._most_open = max(self._most_open, self._open)
            self._due[(now + self._ttft_ns) // TICK_NS + 1].append(stream)

    def _marks(self) -> dict[str, Any]:
        writes = [stream.writes for stream in self._served if stream.writes]
        return {
            "first_received_ns": min((stream.t_received_ns for stream in self._served), default=None),
            "last_write_ns": max((stamps[-1] for stamps in writes), default=None),
            "requests": len(self._served),
            "events": sum(map(len, writes)),
            "open": self._open,
            "most_open": self._most_open,
        }

    def _gone(self, connection: Connection) -> None:
        if connection.stream is not None:
            connection.stream.connection = None
            connection.stream = None
            self._open -= 1
        self._selector.unregister(connection.sock)
        connection.sock.close()


def main() -> None:
    """Serve on loopback until SIGTERM; says `listening on ADDRESS` once it does."""
    parser = argparse.ArgumentParser(description="streams of known events at known times")
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument("--ttft", type=float, default=0.2, help="seconds to the first token (default: 0.2)")
    parser.add_argument("--gap", type=float, default=0.02, help="seconds between tokens (default: 0.02)")
    parser.add_argument("--tokens", type=int, default=64, help="where a request does not say (default: 64)")
    parser.add_argument("--cpu", type=int, help="stay on this core")
    options = parser.parse_args()
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    go_first()  # where it may not, it waits for a core as others do, and its notes show it
    listener = socket.create_server(("127.0.0.1", options.port), backlog=BACKLOG)
    server = ScriptedServer(listener, ttft_s=options.ttft, gap_s=options.gap, tokens=options.tokens)
    signal.signal(signal.SIGTERM, server.stop)
    signal.signal(signal.SIGINT, server.stop)
    sys.stdout.write(f"listening on 127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    server.run()


if __name__ == "__main__":
    main()
