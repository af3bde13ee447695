"""The token that starting and ending engines over the admin address takes.

Owns: making it, and the file in which only this user can read it. Knows nothing about what it is asked for.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from serving.errors import Failed

BYTES = 32


def make_token() -> str:
    """A new one."""
    return secrets.token_urlsafe(BYTES)


def write_token(path: Path, token: str) -> None:
    """Put it where only this user reads it, in place of an older one. Raises: Failed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file that is there already could have another mode, or be held open by somebody.
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token + "\n")
    except OSError as error:
        raise Failed(
            f"the admin token cannot be written: {error.strerror}",
            where=str(path),
            fix="make room there, or set TEAPOT_HOME to a folder that you may write to",
        ) from error


def remove_token(path: str | None) -> None:
    """Leave none behind that opens nothing."""
    if path is not None:
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)


def read_token(path: str) -> str:
    """What is in it. Raises: Failed."""
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise Failed(
            f"the admin token cannot be read: {why}",
            where=path,
            fix="run this as the user who runs `teapot serve`, on the same machine",
        ) from error
