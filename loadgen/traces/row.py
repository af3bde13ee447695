"""One request of a trace, what is wrong with a row, and how a form of trace is described.

Owns: `TraceRow`, `BadRow`, `Form`, and the reading of single fields with their errors. Knows nothing
about particular forms, files or prompts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class BadRow(ValueError):
    """What is wrong with a row, as `what; what was expected`."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A request as a trace tells it. Times are seconds; those of a whole trace begin at 0."""

    line: int
    at_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    hash_ids: tuple[int, ...] = ()
    """Names of the blocks that the prompt consists of: equal leading ids are an equal beginning."""
    kind: str = "trace"
    body: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the request body; with a prompt in them, the lengths are unknown."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which traces are published."""

    name: str
    wanted: str
    """How a row looks, for people."""
    recognises: Callable[[str], bool]
    """Whether the first line of a file is of this form."""
    read: Callable[[int, str, Sequence[str]], TraceRow]
    """A row from its line number, its text and the names of the header. Raises: BadRow."""
    has_header: bool = False


def json_row(text: str) -> Mapping[str, Any]:
    """A line of JSON as an object. Raises: BadRow."""
    try:
        row = json.loads(text)
    except ValueError:
        raise BadRow("is not JSON; each line is one JSON object") from None
    if not isinstance(row, Mapping):
        raise BadRow("is not an object; each line is one JSON object with keys")
    return row


def keys_of(text: str) -> frozenset[str]:
    """The keys of a line of JSON; empty for anything else."""
    try:
        return frozenset(json_row(text))
    except BadRow:
        return frozenset()


def seconds(row: Mapping[str, Any], key: str, *, unit_s: float = 1.0) -> float:
    """A time. Raises: BadRow where it is missing, negative or no number."""
    value = _number(row, key, "a time of 0 or more")
    if value < 0:
        raise BadRow(f"{key} is {row[key]}, before the begin; expected a time of 0 or more")
    return value * unit_s


def tokens(row: Mapping[str, Any], key: str) -> int:
    """A length; 0 is let through, for the reader of the whole file to judge. Raises: BadRow."""
    value = _number(row, key, "a whole number of tokens")
    if value != int(value) or value < 0:
        raise BadRow(f"{key} is {row[key]}; expected a whole number of tokens")
    return int(value)


def _number(row: Mapping[str, Any], key: str, wanted: str) -> float:
    value = row.get(key)
    if value is None or value == "":
        raise BadRow(f"{key} is missing; expected {wanted}")
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise BadRow(f"{key} is {value!r}; expected {wanted}")
    return number
