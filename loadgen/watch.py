"""Looks at a run each second, and tells everyone who watches it.

Owns: when figures are made, their short history, live.json, and the terminal's line. Knows nothing about
who sends or where the web tab and the exporter are.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import gevent

from loadgen.live import Live
from loadgen.live_view import View, line, view
from loadgen.run_folder import RunFolder

EVERY_S = 1.0
KEPT = 900
"""Seconds of history for charts."""


@dataclass(slots=True)
class Watch:
    """Makes figures of `live` each second between `start` and `stop`."""

    live: Callable[[], Live]
    folder: RunFolder
    show: Callable[[str], None] = lambda _: None
    """Takes the terminal's line."""
    history: deque[View] = field(default_factory=lambda: deque(maxlen=KEPT))
    _began: float = 0.0
    _before: Live = field(default_factory=Live)
    _looked: float = 0.0
    _greenlet: gevent.Greenlet | None = None

    def start(self) -> None:
        """Begin to look."""
        self._began = self._looked = time.monotonic()
        self._greenlet = gevent.spawn(self._run)

    def stop(self) -> None:
        """Look a last time."""
        if self._greenlet is not None:
            self._greenlet.kill()
            self._look()

    def _run(self) -> None:
        while True:
            gevent.sleep(EVERY_S)
            self._look()

    def _look(self) -> None:
        now = time.monotonic()
        live = Live.from_wire(self.live().to_wire())  # as it is now: it goes on growing
        over_s = max(1e-3, now - self._looked)
        shown = view(live, before=self._before, over_s=over_s, elapsed_s=now - self._began)
        self._before, self._looked = live, now
        self.history.append(shown)
        # In a thread: a disk that is slow for a moment must not hold up the stamps.
        gevent.get_hub().threadpool.apply(self.folder.write_json, ("live.json", shown))
        self.show(line(shown))
