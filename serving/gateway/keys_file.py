"""The file of API keys: read, checked, watched, written.

Owns: its format and when it is read again. Knows nothing about how a key is compared or who asks.
A file that turned wrong while the gateway runs is reported, and the keys known before stay in force.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, Field

from serving.config.document import Document
from serving.config.load import read, validate
from serving.config.schema import Section
from serving.errors import Failed, Problem, TeapotError, UsageError
from serving.gateway.keys import KeyEntry, KeySet, is_hash

logger = logging.getLogger("teapot.gateway.keys")

LOOK_EVERY_S = 1.0
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$"
_HEAD = (
    "# Keys of the teapot gateway: only their hashes. `teapot keys` rewrites this file, without comments.\n"
)
_NEW_FILE_MODE = 0o600


def _checked_hash(text: str) -> str:
    if not is_hash(text):
        raise ValueError(
            "is no hash of a key; a key is added by `teapot keys add NAME`, which writes its hash"
        )
    return text


class KeyRow(Section):
    """One key in the file."""

    name: Annotated[str, Field(pattern=NAME)]
    hash: Annotated[str, AfterValidator(_checked_hash)]
    requests_per_minute: Annotated[int, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[int, Field(gt=0)] | None = None


class KeysDocument(Section):
    """The whole file."""

    keys: tuple[KeyRow, ...]


def read_keys(path: Path) -> tuple[KeyEntry, ...]:
    """The entries of a file. Raises: UsageError with all that is wrong, as `file:line: key`."""
    document = read(path)
    rows = validate(document, KeysDocument).keys
    problems = list(_repeated(rows, document))
    if problems:
        raise UsageError.of(problems)
    return tuple(
        KeyEntry(row.name, row.hash.partition(":")[2], row.requests_per_minute, row.tokens_per_minute)
        for row in rows
    )


def _repeated(rows: Sequence[KeyRow], document: Document) -> Iterable[Problem]:
    for field in ("name", "hash"):
        first: dict[str, int] = {}
        for index, row in enumerate(rows):
            value = getattr(row, field)
            if value in first:
                where = document.where(("keys", index, field))
                yield Problem(f"the {field} is already keys[{first[value]}]", where, "remove one of them")
            first.setdefault(value, index)


def write_keys(path: Path, entries: Iterable[KeyEntry]) -> None:
    """Replace the file in one step, so that a reader sees the old or the new. Raises: Failed."""
    rows = [_row(entry) for entry in entries]
    text = _HEAD + yaml.safe_dump({"keys": rows}, sort_keys=False, width=1000)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _NEW_FILE_MODE
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise Failed(
            f"cannot be written: {error.strerror}", where=str(path), fix="check the folder"
        ) from error


def _row(entry: KeyEntry) -> dict[str, str | int]:
    row: dict[str, str | int] = {"name": entry.name, "hash": f"sha256:{entry.digest}"}
    if entry.requests_per_minute is not None:
        row["requests_per_minute"] = entry.requests_per_minute
    if entry.tokens_per_minute is not None:
        row["tokens_per_minute"] = entry.tokens_per_minute
    return row


def open_to_others(path: Path) -> str | None:
    """A warning if every user of this machine can read the file, None if not."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if not mode & stat.S_IROTH:
        return None
    return f"{path}: every user of this machine can read it (mode {mode:04o}); chmod 600 it"


class WatchedKeys:
    """The keys of a file as it is now, looked at again at most once a second."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._seen = _stamp(path)
        self._keys = KeySet(read_keys(path))
        self._look_at = clock() + LOOK_EVERY_S
        warning = open_to_others(path)
        if warning:
            logger.warning("%s", warning)

    def current(self) -> KeySet:
        """The keys in force."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY_S
            self._look()
        return self._keys

    def _look(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._keys = KeySet(read_keys(self._path))
        except TeapotError as error:
            logger.error("the keys stay as they were: %s", error)
            return
        logger.info("%s: %d keys", self._path, len(self._keys.entries))
        warning = open_to_others(self._path)
        if warning:
            logger.warning("%s", warning)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
