"""Pages of metrics whose values go on with every scrape, well or badly, as the test says.

Owns: the values and the HTTP that shows them. Knows nothing about what the metrics mean. Counters go by
scrapes and not by the clock, so that a scrape that comes late finds nothing that jumped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Line:
    """A series: what a gauge is while things are well and while they are not, or what a counter adds."""

    series: str
    well: float
    badly: float | None
    """None: the series is not there."""
    adds: bool = False
    value: float = 0.0


@dataclass(slots=True)
class Page:
    """What one target shows."""

    lines: Sequence[Line]
    deaf: bool = False
    """It does not answer while things go badly."""

    def text(self, badly: bool) -> str:
        """The page now; its counters go on for the next."""
        shown = []
        for line in self.lines:
            number = line.badly if badly else line.well
            if number is not None:
                shown.append(f"{line.series} {line.value if line.adds else number}\n")
                line.value += number
        return "".join(shown)

    def start_again(self) -> None:
        """As a process does: all counters from 0."""
        for line in self.lines:
            line.value = 0.0


class SteppingPages:
    """The server of all pages, by path. `badly` is the test's to set."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = pages
        self.badly = False
        self.address = ""
        self._lock = threading.Lock()

    def answer(self, path: str) -> str | None:
        """The page of a path; None: it does not answer."""
        with self._lock:
            page = self.pages[path]
            return None if page.deaf and self.badly else page.text(self.badly)

    @contextmanager
    def served(self) -> Iterator[SteppingPages]:
        """Answer on loopback for the length of a `with`."""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = pages.answer(self.path)
                # On a busy machine a scrape may have been given up.
                with suppress(ConnectionError):
                    self.send_response(503 if body is None else 200)
                    self.send_header("Content-Type", "text/plain; version=0.0.4")
                    self.send_header("Content-Length", str(len(body or "")))
                    self.end_headers()
                    self.wfile.write((body or "").encode())

            def log_message(self, *words: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
