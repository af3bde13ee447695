"""The disks that a study writes to: room for a cell, and the end of a study where one takes no more.

Owns: how much room is enough, which errors of the system mean a disk, and the words. Knows nothing about what
is written.
"""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from serving.errors import Failed

LEAST_FREE_BYTES = 64 * 1024**2
"""A cell writes a few MiB."""
OF_DISKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
_AGAIN = "go on with --resume"


class DiskEnd(Failed):
    """A study stops, for its files cannot be written; unlike a failed start or cell it is no row."""


def free_bytes(path: Path) -> int:
    """Of the disk that a folder is on. Raises: OSError."""
    return shutil.disk_usage(path).free


def require_room(free: int, folder: Path) -> None:
    """Raises: DiskEnd where so many bytes are too few for a cell."""
    if free < LEAST_FREE_BYTES:
        raise _full(f"{free // 1024**2} MiB are free", folder)


def disk_end(error: OSError, folder: Path) -> DiskEnd:
    """Why a study stops where the system refused a file: of its folder, or the one that the error names."""
    why, where = error.strerror or str(error), Path(error.filename or folder)
    if error.errno in OF_DISKS:
        return _full(why, where)
    what = f"the study stops, for a file of it cannot be written or read: {why}"
    return DiskEnd(what, where=str(where), fix=f"mend that and {_AGAIN}")


def _full(why: str, where: Path) -> DiskEnd:
    what = f"the study stops, for the disk takes no more: {why}"
    room = f"make room (a cell needs {LEAST_FREE_BYTES // 1024**2} MiB)"
    return DiskEnd(what, where=str(where), fix=f"{room} and {_AGAIN}")
