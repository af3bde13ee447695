"""Reads the servers' `/metrics` every second, and at the edges of the measured phase.

Owns: when they are read. Knows nothing about what the series mean. Under locust its thread is a
greenlet (gevent has replaced `threading`), so that one body of code serves both worlds.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from loadgen.control import ControlClient
from loadgen.server_metrics import ServerSample, read_metrics
from loadgen.target import parse_target

EVERY_S = 1.0
TIMEOUT_S = 5.0


def metrics_address(url: str, *, where: str = "--metrics") -> tuple[str, str]:
    """The server and the path of a metrics URL; the path is `/metrics` where none is given.

    `where` is the option that an error names. Raises: UsageError if it is not an http or https address.
    """
    parse_target(url, where=where)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/") or "/metrics"


def read_once(url: str, *, t_ns: int, edge: bool) -> ServerSample:
    """One sample; a server that does not answer gives a sample with an error, never an exception."""
    base, path = metrics_address(url)
    try:
        with ControlClient(parse_target(base), timeout_s=TIMEOUT_S) as client:
            answer = client.get(path)
        if answer.status != 200:
            return ServerSample(t_ns, url, edge=edge, error=f"HTTP {answer.status}")
        series, cache_config = read_metrics(answer.body.decode(errors="replace"))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return ServerSample(t_ns, url, edge=edge, error=str(error) or type(error).__name__)
    return ServerSample(t_ns, url, series, cache_config if edge else {}, edge)


@dataclass(slots=True)
class Scraper:
    """Gives a sample of every URL to `sink` each second between `start` and `stop`."""

    urls: Sequence[str]
    origin_ns: int
    sink: Callable[[ServerSample], None]
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin reading in the background."""
        if self.urls:
            self._thread = threading.Thread(target=self._run, name="scrape", daemon=True)
            self._thread.start()

    def edge(self) -> None:
        """Read all URLs now, in the caller's thread: nothing is in flight."""
        self._read(edge=True)

    def stop(self) -> None:
        """End the reading in the background."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            self._read(edge=False)

    def _read(self, *, edge: bool) -> None:
        for url in self.urls:
            self.sink(read_once(url, t_ns=time.perf_counter_ns() - self.origin_ns, edge=edge))
