"""One run as the process that answers for it sees it: sending itself or leading others, and being watched.

Owns: putting session or lead together with the watch and the exporter, and stopping them. Knows nothing
about locust: workers are behind a wire that comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from loadgen.discovery import announced
from loadgen.dispatch import Ended
from loadgen.exporter import ADDRESS, LoadCollector, exported
from loadgen.lead import Lead
from loadgen.limits import Limits
from loadgen.live_view import View
from loadgen.reading import Heard
from loadgen.run_folder import Manifest, RunFolder
from loadgen.session import Session
from loadgen.watch import Watch
from serving.errors import Failed, UsageError

EXPORTER_PORT = 9478
"""Of `auto`: taken where it is free, done without where it is not."""


class Wire(Protocol):
    """Workers that can be told something."""

    def workers(self) -> Sequence[str]:
        """Ids of those that can send."""

    def alive(self, worker: str) -> bool:
        """Whether it is still there."""

    def tell(self, kind: str, data: Mapping[str, Any], worker: str) -> None:
        """Send it a message."""


@dataclass(slots=True)
class Play:
    """Plays one run after the other; `stop` and `hear` are for the one that is on."""

    say: Callable[[str], None]
    show: Callable[[str], None]
    """Takes a line for the terminal each second."""
    limits: Limits = field(default_factory=Limits)
    discovery: Path | None = None
    """The folder where Prometheus is told of runs; None: it is not."""
    _wire: Wire | None = None
    _on: Session | Lead | None = None
    _watch: Watch | None = None
    _stopped: bool = False

    def begin(self) -> None:
        """Forget a stop that was meant for the run before."""
        self._stopped = False

    def lead_through(self, wire: Wire) -> None:
        """From now on others send."""
        self._wire = wire

    @property
    def history(self) -> Sequence[View]:
        """The figures of each second, of this run or else the last."""
        return tuple(self._watch.history) if self._watch is not None else ()

    def run(self, folder: RunFolder, *, heard: Callable[[Heard], None], exporter_port: str) -> Ended:
        """Play a prepared folder; it is whole when this returns. Raises: TeapotError."""
        manifest = folder.manifest()
        playing = self._player(folder, manifest, heard)
        with (
            self._exported(playing.live, folder, manifest, exporter_port) as port,
            announced(self.discovery, f"{ADDRESS}:{port}" if port else None, manifest.target, self.say),
        ):
            # From here on it is a run: until here the figures of the one before are shown.
            self._on = playing
            if self._stopped:
                playing.stop(wait=False)
            watch = self._watch = Watch(playing.live, folder, self.show)
            watch.start()
            try:
                ended = playing.run()
            finally:
                watch.stop()
                self._on = None
        if isinstance(playing, Lead):
            for error in playing.errors:
                self.say(error)
        return ended

    def stop(self) -> None:
        """End the sending, drain, and return when the folder is whole; again: cut what is in flight."""
        self._stopped = True
        if self._on is not None:
            self._on.stop()

    def hear(self, kind: str, worker: str, data: Mapping[str, Any]) -> None:
        """Take a worker's message."""
        if isinstance(self._on, Lead):
            self._on.hear(kind, worker, data)

    def hear_live(self, worker: str, wire: Mapping[str, Any]) -> None:
        """Take a worker's figures."""
        if isinstance(self._on, Lead):
            self._on.hear_live(worker, wire)

    def _player(
        self, folder: RunFolder, manifest: Manifest, heard: Callable[[Heard], None]
    ) -> Session | Lead:
        if self._wire is None:
            return Session(folder, heard=heard, say=self.say, limits=self.limits)
        workers = list(self._wire.workers())[: _useful(manifest)]
        if not workers:
            raise Failed("no worker is connected", where="--master", fix="start workers, or leave it out")
        return Lead(folder, workers, self._wire.tell, self._wire.alive, self.limits)

    def _exported(self, live: Any, folder: RunFolder, manifest: Manifest, port: str) -> Any:
        collector = LoadCollector(live, run=folder.label, workload=manifest.name)
        if port == "off":
            return exported(collector, None)
        if port != "auto":
            if not port.isdigit():
                raise UsageError(
                    f"'{port}' is not a port", where="--exporter-port", fix="give a number, auto or off"
                )
            return exported(collector, int(port))
        return exported(collector, EXPORTER_PORT, unless_taken=self.say)


def _useful(manifest: Manifest) -> int | None:
    """A closed loop keeps no more workers busy than it has slots at its fullest; None: all."""
    arrival = manifest.workload["arrival"]
    slots = [arrival.get("concurrency"), *(stage.get("concurrency") for stage in arrival.get("stages") or ())]
    return max((slot for slot in slots if slot), default=None)
