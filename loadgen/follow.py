"""One of several sending processes: it does what the leading one (`loadgen.lead`) says.

Owns: the worker's side of their conversation. Knows nothing about locust beyond sending a message.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gevent
from gevent.event import AsyncResult

from loadgen.lead import worker_folder
from loadgen.limits import Limits
from loadgen.live import Live
from loadgen.messages import DONE, GIVEN, GO, NEED, PLAY, READY, RECORDS, STOP, machine
from loadgen.reading import Heard
from loadgen.run_folder import RunFolder
from loadgen.session import Part, Session
from serving.errors import TeapotError

LINES_BYTES = 1_000_000

Say = Callable[[str, Mapping[str, Any]], None]
"""Sends a message of a kind to the leading process."""


@dataclass(slots=True)
class Follow:
    """Plays its part of one run after the other. `hear` takes the leading process's messages."""

    say: Say
    heard: Callable[[Heard], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)
    machine: str = field(default_factory=machine)
    _session: Session | None = None
    _busy: bool = False
    """From the order to play until the account is given."""
    _stopped: bool = False
    """Told to stop since the latest order to play, perhaps before there was a session to tell."""
    _go: AsyncResult = field(default_factory=AsyncResult)
    _given: AsyncResult = field(default_factory=AsyncResult)

    @property
    def playing(self) -> bool:
        """Whether a run is on."""
        return self._session is not None

    def hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take a message; it returns at once."""
        if kind == PLAY and self._busy:
            told = "this worker has not come to the end of the run before; start it anew"
            self.say(DONE, {"account": None, "live": Live().to_wire(), "error": told})
        elif kind == PLAY:
            self._busy = True
            self._go, self._given, self._stopped = AsyncResult(), AsyncResult(), False
            gevent.spawn(self._play, data)
        elif kind == GIVEN:
            self._given.set(data)
        elif kind == GO:
            self._go.set(data["start_ns"])
        elif kind == STOP:
            self.stop(cut=data["cut"])

    def stop(self, *, cut: bool = False) -> None:
        """End the sending: a run that waits for the word to begin has none to send."""
        self._stopped = True
        if self._session is not None:
            self._session.stop(wait=False)
            if cut:
                self._session.stop(wait=False)
        if not self._go.ready():
            self._go.set(None)

    def live(self) -> Live:
        """What it has come to so far."""
        return self._session.live() if self._session is not None else Live()

    def _play(self, order: Mapping[str, Any]) -> None:
        told: dict[str, Any] = {"account": None, "live": Live().to_wire(), "error": None}
        try:
            with ExitStack() as stack:
                shared = order["machine"] == self.machine
                offset_ns = 0 if shared else time.perf_counter_ns() - order["now_ns"]
                folder = RunFolder(Path(order["folder"])) if shared else self._receive(stack, offset_ns)
                out = worker_folder(folder, order["worker"])
                out.path.mkdir(exist_ok=True)
                self._session = Session(
                    folder,
                    out=out,
                    part=Part(order["worker"], order["workers"]),
                    scrapes=False,
                    starts_at_ns=lambda: self._begin(offset_ns),
                    heard=self.heard,
                    limits=self.limits,
                )
                if self._stopped:
                    self._session.stop(wait=False)
                self._session.run()
                told["live"] = self._session.live().to_wire()
                if not shared:
                    self._send_records(out)
                account = out.account()
                told["account"] = asdict(account) if account is not None else None
        except TeapotError as error:
            told["error"] = str(error)
        except Exception as error:  # noqa: BLE001 - the border of this process: the leading one must hear of it
            told["error"] = f"{type(error).__name__}: {error}"
        finally:
            self._session, self._busy = None, False
            self.say(DONE, told)

    def _begin(self, offset_ns: int) -> int:
        """Say that the warm-up has ended, and wait for the raw stamp of the start."""
        self.say(READY, {})
        start_ns = self._go.get()
        return time.perf_counter_ns() if start_ns is None else int(start_ns) + offset_ns

    def _receive(self, stack: ExitStack, offset_ns: int) -> RunFolder:
        """Get the run by message. Its clock is set to ours; how long the message took is not known."""
        self.say(NEED, {})
        texts: Mapping[str, str] = self._given.get()
        folder = RunFolder(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        manifest = json.loads(texts["manifest.json"])
        manifest["clock"]["perf_counter_ns"] += offset_ns
        folder.write_json("manifest.json", manifest)
        folder.write("timetable.jsonl", texts["timetable.jsonl"])
        return folder

    def _send_records(self, out: RunFolder) -> None:
        with out.records_path.open(encoding="utf-8") as file:
            while lines := file.readlines(LINES_BYTES):
                self.say(RECORDS, {"lines": "".join(lines)})
