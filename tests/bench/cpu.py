"""The CPU time of a process and all it starts, over time.

Owns: the sampling and reading it between two moments. Knows nothing about whose it is.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

EVERY_S = 0.25
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class CpuOverTime:
    """Samples a tree of processes in a thread, for a `with`. Needs Linux."""

    pid: int
    samples: list[tuple[int, dict[int, float]]] = field(default_factory=list)
    """Stamp, and seconds so far by process; ended processes keep their last value."""
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> CpuOverTime:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        assert self._thread is not None  # __enter__
        self._thread.join()

    def between_s(self, first_ns: int, last_ns: int) -> float:
        """Seconds of CPU between two stamps of `perf_counter_ns`, by straight lines between samples."""
        return self._at(last_ns) - self._at(first_ns)

    def _at(self, stamp_ns: int) -> float:
        before = (0, 0.0)
        for at, by_process in self.samples:
            total = sum(by_process.values())
            if at >= stamp_ns:
                share = (stamp_ns - before[0]) / (at - before[0]) if before[0] else 1.0
                return before[1] + share * (total - before[1])
            before = (at, total)
        return before[1]

    def _run(self) -> None:
        seen: dict[int, float] = {}
        while not self._over.wait(EVERY_S):
            seen = seen | _tree(self.pid)
            self.samples.append((time.perf_counter_ns(), seen))


def _tree(pid: int) -> dict[int, float]:
    """Seconds of CPU by process: of this one and its descendants."""
    parents: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS_PER_S)
    found, grew = {pid}, True
    while grew:
        more = {one for one, (parent, _) in parents.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return {one: parents[one][1] for one in found if one in parents}
