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


def end_of_log(path: Path, since: int, at_most_bytes: int = 1024**2) -> list[str]:
    """The last lines written after the first `since` bytes; a log of weeks is not read whole."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(since, size - at_most_bytes))
            data = file.read()
    except OSError:
        return []
    return [line.decode(errors="replace") for line in data.replace(b"\r", b"\n").split(b"\n") if line]


def size_of_log(path: Path) -> int:
    """How many bytes were written so far; 0 while there is no file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
