"""Tells Prometheus where this load generator's own metrics are, for as long as it runs.

Owns: the file of one run in a folder of such files, and putting away those of runs that are gone. Knows
nothing about Prometheus beyond the form of the file. A run holds a lock on its file, which the kernel lets go
with the process however that ends: a file without a lock is of a run that is gone.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TARGET_LABEL = "__meta_teapot_target"
"""Whom the run loads, for whoever can tell which deployment that is. Prometheus itself drops such labels."""


@contextmanager
def announced(
    folder: Path | None, address: str | None, target: str, say: Callable[[str], None]
) -> Iterator[None]:
    """Have the file for the length of a `with`. None, or no such folder: there is nothing to tell, or nobody.

    A folder that cannot be written to is only said.
    """
    if folder is None or address is None or not folder.is_dir():
        yield
        return
    path = folder / f"{os.getpid()}.json"
    try:
        descriptor = _write(path, [{"targets": [address], "labels": {TARGET_LABEL: target}}])
    except OSError as error:
        say(f"Prometheus is not told of this run's own metrics: {error}")
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove the files of runs that are gone."""
    for path in folder.glob("*.json"):
        # It may go by itself, be another user's, or be locked by its run, which lives.
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink()


def _write(path: Path, groups: list[dict[str, object]]) -> int:
    """The file, complete and locked when it appears; its descriptor holds the lock. Raises: OSError."""
    sweep(path.parent)
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(groups, indent=1).encode())
        beside.replace(path)
    except OSError:
        os.close(descriptor)
        beside.unlink(missing_ok=True)
        raise
    return descriptor
