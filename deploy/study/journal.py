"""A study's journal: what happened, one line an event, in the order it happened.

Owns: its line format, that a line is on the disk before the work goes on, and what is done according to it.
Knows nothing about what the events mean to a summary.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.errors import UsageError

BEGUN = "study-begun"
RESUMED = "study-resumed"
START_UP = "start-up"
PROVEN = "proven"
START_FAILED = "start-failed"
START_DOWN = "start-down"
CELL_DONE = "cell-done"
CELL_FAILED = "cell-failed"
INTERRUPTED = "interrupted"
STOPPED = "stopped"
"""By a disk."""
OUT_OF_BUDGET = "out-of-budget"
DONE = "done"


@dataclass(frozen=True, slots=True)
class Journal:
    """One file, only ever appended to."""

    path: Path

    def note(self, event: str, at: str, **more: Any) -> None:
        """Append an event. Raises: OSError where the disk says no."""
        line = json.dumps({"at": at, "event": event, **more}, separators=(",", ":"))
        with self.path.open("a", encoding="utf-8") as file:
            # A line that was cut by a crash must not swallow this one.
            if file.tell() and not self._ends_whole():
                file.write("\n")
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def events(self) -> Iterator[Mapping[str, Any]]:
        """All events so far; one that a crash cut, or that is none, is left out. Raises: UsageError."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot be read: {error}", where=str(self.path)) from None
        for line in text.split("\n"):
            event = _event(line)
            if event is not None:
                yield event

    def done(self) -> frozenset[str]:
        """Ids of the cells that need not be run again."""
        return frozenset(str(event["cell"]) for event in self.events() if event.get("event") == CELL_DONE)

    def _ends_whole(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _event(line: str) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line) if line else None
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"at", "event"} <= event.keys() else None
