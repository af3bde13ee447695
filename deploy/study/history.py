"""What starts and cells took earlier on this machine, for estimates.

Owns: the file in the data folder. Knows nothing about what is estimated from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.study.estimate import Costs, Seen, StartKey

MOST_READ = 2_000
"""The newest lines."""


@dataclass(frozen=True, slots=True)
class History:
    """One file of lines; what cannot be read of it is left out: it only makes estimates better."""

    path: Path

    def costs(self) -> Costs:
        """All that is remembered."""
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")[-MOST_READ:]
        except (OSError, UnicodeDecodeError):
            return Costs()
        return Costs(tuple(self._read(lines)))

    def start(self, key: StartKey, took_s: float) -> None:
        """Remember a start with its end."""
        self._append(
            {"start": [key.model, key.device, key.compiles, list(key.modes)], "took_s": round(took_s, 2)}
        )

    def cell(self, model: str, fingerprint: str, took_s: float) -> None:
        """Remember a cell."""
        self._append({"cell": [model, fingerprint], "took_s": round(took_s, 2)})

    def _append(self, row: dict[str, object]) -> None:
        # A full disk ends a study by what cannot be measured any more, and not by this.
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    @staticmethod
    def _read(lines: list[str]) -> Iterator[Seen]:
        for line in lines:
            try:
                row = json.loads(line)
                if "start" in row:
                    model, device, compiles, modes = row["start"]
                    yield Seen(StartKey(model, device, compiles, tuple(modes)), float(row["took_s"]))
                else:
                    model, fingerprint = row["cell"]
                    yield Seen((model, fingerprint), float(row["took_s"]))
            except (ValueError, TypeError, KeyError):
                continue
