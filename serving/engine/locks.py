"""A lock between processes, on a file.

Owns: waiting for another process and saying which one. Knows nothing about what is guarded.
The kernel frees the lock when its last holder is gone, so a SIGKILL leaves none behind.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.2


@contextmanager
def file_lock(path: Path, on_wait: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock at `path`; yields its file descriptor.

    A child that inherits the descriptor keeps the lock, so that what a killed parent leaves running
    is waited for. `on_wait` hears once, before waiting, who holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = False
        while not _try_lock(descriptor):
            if not told:
                on_wait(f"waiting for {_holder(descriptor)}, which is doing the same ({path.name})")
                told = True
            time.sleep(POLL_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
