"""What a rollout does, on the disk line by line before it is done, for who comes back after a crash.

Owns: the folder of a deployment's rollouts, the journal file, the lock. Knows nothing about states:
a line is a JSON object. A line counts when it is whole and on the disk; a torn last one is cut off.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from serving.errors import Failed

JOURNAL = "journal.jsonl"
LOCK = "lock"
_STAMP = "%Y%m%d-%H%M%S"
_NAME = re.compile(r"\d{8}-\d{6}-")
"""Others are no rollouts, such as one that was moved aside."""
_SEE = "see to the disk, and to who may write there"
Line = Mapping[str, Any]


class DiskFull(Failed):
    """A line could not be kept, most likely for a full disk, so what it announces must not be done."""


class Busy(Failed):
    """Another rollout of this deployment is going on."""


class Journal:
    """An append-only file of JSON lines.

    `write` and `sync` are the system's own; tests give others.
    """

    def __init__(
        self,
        path: Path,
        *,
        write: Callable[[int, bytes], int] = os.write,
        sync: Callable[[int], None] = os.fsync,
    ) -> None:
        self.path = path
        self._write = write
        self._sync = sync

    def lines(self) -> tuple[Line, ...]:
        """All whole lines, oldest first. Raises: Failed where one is no JSON object, or it cannot be read."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise Failed(f"cannot be read: {error.strerror}", where=str(self.path), fix=_SEE) from error
        whole = data[: data.rfind(b"\n") + 1].splitlines()
        return tuple(self._parsed(line, number) for number, line in enumerate(whole, start=1))

    def append(self, line: Line) -> None:
        """Add a line and see it onto the disk. Raises: DiskFull, and then the file is as it was before."""
        text = json.dumps(line, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        fresh = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._full(error) from error
        try:
            end = _end_of_lines(file)
            os.ftruncate(file, end)
            os.lseek(file, end, os.SEEK_SET)
            try:
                self._whole(file, text)
            except OSError as error:
                os.ftruncate(file, end)
                raise self._full(error) from error
        finally:
            os.close(file)
        if fresh:
            _sync_folder(self.path.parent)

    def _whole(self, file: int, text: bytes) -> None:
        while text:
            text = text[self._write(file, text) :]
        self._sync(file)

    def _full(self, error: OSError) -> DiskFull:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else f"nothing can be written ({error.strerror})"
        return DiskFull(
            f"{why}, so the next step cannot be kept and is not taken",
            where=str(self.path),
            fix=f"{'free some space' if full else _SEE}; the rollout stays where it is and tries again",
        )

    def _parsed(self, line: bytes, number: int) -> Line:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Failed(
                "this line is no JSON object: the journal was changed or damaged",
                where=f"{self.path}:{number}",
                fix="mend it, or go back by hand and move its folder away (docs/rollout.md)",
            )
        return found


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a deployment's rollouts, which ends with the process at the latest.

    Raises: Busy; Failed where its file cannot be made.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        what = f"the lock of its rollouts cannot be taken: {error.strerror}"
        raise Failed(what, where=str(path), fix=_SEE) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise Busy(
                f"a rollout is going on already, in process {holder}",
                where=str(path),
                fix="watch it with `teapot rollout status`, or end it with `teapot rollout abort`",
            ) from error
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def folder_of(home: Path, deployment: str) -> Path:
    """Where the rollouts of a deployment are kept."""
    return home / "state" / "rollouts" / deployment


def newest_first(folder: Path) -> list[Path]:
    """The folders of all rollouts of a deployment. Their names begin with the time (`next_folder`)."""
    found = (path.parent for path in folder.glob(f"*/{JOURNAL}"))
    return sorted((path for path in found if _NAME.match(path.name)), reverse=True)


def next_folder(folder: Path, canary: str, now_s: float) -> Path:
    """A folder for a new rollout, newer than all, also where the clock was set back since the last."""
    stamp = _stamp(now_s)
    for last in newest_first(folder)[:1]:
        with suppress(ValueError):
            began = datetime.strptime(last.name[: len(stamp)], _STAMP).replace(tzinfo=UTC)
            stamp = max(stamp, _stamp(began.timestamp() + 1))
    return folder / f"{stamp}-{canary}"


def _stamp(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime(_STAMP)


def _end_of_lines(file: int) -> int:
    """Where the last whole line ends."""
    end = os.fstat(file).st_size
    while end:
        start = max(0, end - 4096)
        at = os.pread(file, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
