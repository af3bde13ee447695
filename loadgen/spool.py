"""Finished exchanges on their way to the reading process: files that are written, read once and removed.

Owns: the spool's folder and files. Knows nothing about what frames hold or who reads when. Files and not
a pipe, because a full pipe would make the stamping process wait for the reading one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from loadgen.frames import Frame, unpack

FILE_BYTES = 32 * 1024 * 1024
"""A file that has grown to this is followed by the next: what is read can be removed meanwhile."""


@dataclass(slots=True)
class SpoolWriter:
    """Appends frames, in a `with`. Writing may block on a slow disk: call it where nothing is stamped."""

    folder: Path
    _number: int = 0
    _size: int = 0
    _file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, data: bytes) -> None:
        """Write one packed frame; a reader sees it at once."""
        if self._file is None or self._size > FILE_BYTES:
            self.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = _name(self.folder, self._number).open("ab", buffering=0)
            self._number += 1
        self._file.write(data)
        self._size += len(data)

    def close(self) -> None:
        """Write no more to the current file."""
        if self._file is not None:
            self._file.close()
        self._file, self._size = None, 0


@dataclass(slots=True)
class SpoolReader:
    """Gives each frame once, and removes files that are followed by another."""

    folder: Path
    _number: int = 0
    _position: int = 0
    _rest: bytes = field(default=b"")

    def frames(self) -> Iterator[Frame]:
        """Every whole frame that is there and was not given yet."""
        while (path := _name(self.folder, self._number)).exists():
            complete = _name(self.folder, self._number + 1).exists()
            with path.open("rb") as file:
                file.seek(self._position)
                data = self._rest + file.read()
                self._position = file.tell()
            start = 0
            while (found := unpack(data, start)) is not None:
                frame, start = found
                yield frame
            self._rest = data[start:]
            if not complete:
                return
            path.unlink()
            self._number, self._position, self._rest = self._number + 1, 0, b""

    def remove(self) -> None:
        """Remove what is left, and the folder."""
        for path in self.folder.glob("*.spool"):
            path.unlink()
        if self.folder.exists():
            self.folder.rmdir()


def _name(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.spool"
