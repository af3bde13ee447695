"""What a Prometheus' last lines mean.

Owns: the lines that tell why it ended or cannot record, each with what to do. Pure. Knows nothing about
processes or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, and what helps."""

    what: str
    fix: str


_FULL = Trouble("the disk is full", "make room, or set prometheus.retention_size lower")
_TROUBLES: tuple[tuple[str, Trouble], ...] = (
    (r"address already in use", Trouble("its port is taken", "set prometheus.port to a free one")),
    (r"no space left on device", _FULL),
    (
        r"lock DB directory",
        Trouble("another Prometheus uses its data folder", "end that one"),
    ),
    (
        r"permission denied",
        Trouble("it may not write its data", "set TEAPOT_HOME to a folder that you may write to"),
    ),
    (r"too many open files", Trouble("it may not open more files", "raise `ulimit -n`")),
    (
        r"unknown (long|short) flag",
        Trouble("it does not know its arguments", "get another version of Prometheus"),
    ),
    (
        r"[Ee]rror loading config|loading groups failed",
        Trouble("it refuses its configuration", "get another version of Prometheus"),
    ),
    (r"[Oo]pening storage failed", Trouble("its data are damaged", "move its data folder away")),
)
"""By the first that is found; lines and words as Prometheus 2.42 to 3 write them."""


def trouble(lines: Iterable[str]) -> Trouble | None:
    """What the lines complain of; None where nothing is known."""
    text = "\n".join(lines)
    return next((known for pattern, known in _TROUBLES if re.search(pattern, text)), None)


def cannot_record(lines: Iterable[str]) -> Trouble | None:
    """What keeps a running one from recording: of all troubles only the one that it lives with."""
    return _FULL if any("no space left on device" in line for line in lines) else None
