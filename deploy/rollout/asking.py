"""What a person asks of a rollout that another process is carrying out.

Owns: the file by which it is asked, and that each request is heard once. Knows nothing about what follows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from serving.errors import Failed

Request = Literal["promote", "abort"]
_NAME = "asked"
_KNOWN: dict[str, Request] = {"promote": "promote", "abort": "abort"}


def ask(folder: Path, request: Request) -> None:
    """Leave a request in a rollout's own folder; a later one takes the place of one not heard yet."""
    beside = folder / f".{_NAME}.{os.getpid()}"
    try:
        beside.write_text(request, encoding="ascii")
        beside.replace(folder / _NAME)
    except OSError as error:
        raise Failed(
            f"the rollout cannot be asked: {error.strerror}", where=str(folder), fix="make room there"
        ) from error


def take(folder: Path) -> Request | None:
    """The request that is waiting, which is then gone; None: there is none."""
    path = folder / _NAME
    try:
        said = path.read_text(encoding="ascii")
        path.unlink()
    except (OSError, UnicodeDecodeError):
        return None
    return _KNOWN.get(said.strip())


def take_back(folder: Path) -> None:
    """Withdraw a request that nobody has heard."""
    (folder / _NAME).unlink(missing_ok=True)


def waits(folder: Path) -> bool:
    """Whether a request has not been heard yet."""
    return (folder / _NAME).exists()
