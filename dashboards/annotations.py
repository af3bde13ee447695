"""Marks on their way to Grafana, in a thread of their own: nobody waits for them, nothing depends on them.

Owns: the bounded queue, what is lost, and that a Grafana that is down is said once. Knows nothing about HTTP,
or what is worth a mark.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from dashboards.grafana import Grafana
from dashboards.marks import Mark
from serving.errors import TeapotError

MOST_WAITING = 64
TIMEOUT_S = 3.0
"""For one mark. Grafana writes a row into its own database for it."""


class Annotations:
    """Sends marks one after the other. `note` from any thread; `close` once."""

    def __init__(
        self, send: Callable[[Mark], None], say: Callable[[str], None], *, most_waiting: int = MOST_WAITING
    ) -> None:
        self.sent = 0
        self.dropped = 0
        """Marks that did not get there: Grafana did not take them, or too many waited."""
        self._send = send
        self._say = say
        self._most = most_waiting
        self._waiting: deque[Mark] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._given_up = False
        """The account is closed too: what is still under way was counted as dropped."""
        self._busy = False
        self._failing = False

    def note(self, mark: Mark) -> None:
        """Have a mark sent, later. Returns at once, and raises nothing."""
        with self._changed:
            if self._closed or len(self._waiting) >= self._most:
                self.dropped += 1
                return
            self._waiting.append(mark)
            self._changed.notify_all()
            if self._thread is None:
                # A daemon: a Grafana that hangs must not keep the program from its end.
                self._thread = threading.Thread(target=self._run, name="annotations", daemon=True)
                self._thread.start()

    def close(self, within_s: float) -> None:
        """Take no more; give what waits that long to get there, and say what did not."""
        deadline = time.monotonic() + within_s
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not self._waiting and not self._busy, max(0.0, deadline - time.monotonic())
            )
            self.dropped += len(self._waiting) + self._busy
            self._waiting.clear()
            self._given_up = True
            lost = self.dropped
        if lost:
            self._say(f"{lost} of {lost + self.sent} annotations did not get to Grafana")

    def _run(self) -> None:
        while (mark := self._next()) is not None:
            try:
                self._send(mark)
            except TeapotError as error:
                self._lost(str(error))
            except Exception as error:  # noqa: BLE001 - the border of this thread: serving must not hear of it but in words
                self._lost(f"{type(error).__name__}: {error}")
            else:
                self._arrived()

    def _next(self) -> Mark | None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            self._busy = True
            return self._waiting.popleft()

    def _lost(self, why: str) -> None:
        with self._changed:
            self.dropped += not self._given_up
            first, self._failing = not self._failing, True
        if first:
            self._say(f"nothing is marked in Grafana until it takes it, and all else goes on: {why}")

    def _arrived(self) -> None:
        with self._changed:
            self.sent += not self._given_up
            again, self._failing = self._failing, False
        if again:
            self._say(f"Grafana takes annotations again ({self.dropped} were lost)")


def to_grafana(url: str, token: str) -> Callable[[Mark], None]:
    """What sends a mark to a Grafana. Raises: UsageError where these are no address and no token."""
    grafana = Grafana(url, token, timeout_s=TIMEOUT_S)

    def send(mark: Mark) -> None:
        until_ms = None if mark.until_s is None else round(mark.until_s * 1e3)
        grafana.annotate(mark.text, mark.tags, at_ms=round(mark.at_s * 1e3), until_ms=until_ms)

    return send
