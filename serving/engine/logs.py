"""An engine's log file while the engine writes it.

Owns: reading what is new. Knows nothing about what lines mean.
"""

from __future__ import annotations

from pathlib import Path


class LogTail:
    """Reads a growing log from where it was when made; a line counts once its end is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        """All complete lines so far."""
        self._offset = path.stat().st_size if path.exists() else 0
        self._rest = b""

    def new_lines(self) -> list[str]:
        """The lines completed since the last call; none while there is no file."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(data)
        # Progress bars rewrite their line with \r: each rewriting is a line of its own.
        *complete, self._rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        new = [line.decode(errors="replace") for line in complete if line]
        self.lines += new
        return new

    def finish(self) -> list[str]:
        """All lines, the unfinished last one of a dead writer included."""
        self.new_lines()
        if self._rest:
            self.lines.append(self._rest.decode(errors="replace"))
            self._rest = b""
        return self.lines
