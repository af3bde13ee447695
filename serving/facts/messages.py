"""What engines write when they fail, turned into a cause and a cure.

Owns: the type of a row of messages.toml and the search through log lines. Knows nothing about
processes, files or how lines were read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Seen = Literal["run", "reported", "read"]
"""How a wording is known: an engine of ours wrote it, vLLM's users reported it, or its source was read."""


@dataclass(frozen=True, slots=True)
class Message:
    """A pattern of a log line with what it means. `{group}` in cause and cure is filled from the line."""

    id: str
    pattern: re.Pattern[str]
    cause: str
    cure: str
    source: str
    seen: Seen = "read"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an engine failed: for people, what to do, and the log line that says so."""

    cause: str
    cure: str
    line: str
    id: str = "unknown"


_EXCEPTION = re.compile(r"(?:^|\s)(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Exit)): (?P<text>\S.*)$")
_NOT_A_CAUSE = ("Engine core initialization failed", "See root cause above", "Engine core proc")
"""Errors in which a parent only repeats that its child failed."""


def parse_messages(rows: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Give the rows of messages.toml their type. Raises: re.error, TypeError on a wrong row."""
    return tuple(Message(**{**row, "pattern": re.compile(row["pattern"])}) for row in rows)


def diagnose(lines: Sequence[str], messages: Sequence[Message]) -> Cause | None:
    """Find the real cause in an engine's log, or None when nothing in it looks like one.

    Known messages win in the order of the table; else the first exception that is not merely the
    echo of another is quoted.
    """
    for message in messages:
        for line in lines:
            found = message.pattern.search(line)
            if found:
                return _fill(message, found, line)
    for line in lines:
        found = _EXCEPTION.search(line)
        if found and not any(echo in line for echo in _NOT_A_CAUSE):
            # A KeyError has nothing but the key for its text.
            told = found["text"] if " " in found["text"] else f"{found['type']}: {found['text']}"
            return Cause(told, "the log around this line tells more", line.rstrip())
    return None


def _fill(message: Message, found: re.Match[str], line: str) -> Cause:
    groups = {name: value or "" for name, value in found.groupdict().items()}
    cause = " ".join(message.cause.format(**groups).split())
    return Cause(cause, message.cure.format(**groups), line.rstrip(), message.id)
