"""What a row of the table of problems is, and what it finds.

Owns: these types, and how versions are compared. Knows nothing about any one problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from serving.modes.mode import EngineContext, Mode

Severity = Literal["error", "ineffective", "warning"]
"""error: it cannot start or answers wrongly. ineffective: it starts and is not what was asked for (may be
tried with --allow-ineffective). warning: it works, and there is something to know."""
M = TypeVar("M", bound=Mode)


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of one deployment. `key` is inside the mode; without a mode it is a path from the top."""

    severity: Severity
    mode_index: int | None
    key: str | None
    what: str
    reason: str
    source: str
    fix: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a row found its problem in a deployment: what exactly, and what to do."""

    what: str
    fix: str | None
    mode: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A deployment as rows look at it."""

    modes: Sequence[Mode]
    context: EngineContext

    def find(self, kind: type[M]) -> tuple[int, M] | None:
        """The mode of a type with its index; None where it is not asked for."""
        return next(((i, mode) for i, mode in enumerate(self.modes) if isinstance(mode, kind)), None)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what does not go together, why, who says so, and how it is recognised."""

    id: str
    title: str
    severity: Severity
    reason: str
    source: str
    check: Callable[[Asked], Iterator[Hit]]

    def findings(self, asked: Asked) -> Iterator[Finding]:
        """What this row finds in a deployment."""
        for hit in self.check(asked):
            yield Finding(self.severity, hit.mode, hit.key, hit.what, self.reason, self.source, hit.fix)


def before(version: str, other: str) -> bool:
    """Whether one vLLM version comes before another; what is not a number (0.33.0+cpu, rc1) is left out."""
    return _numbers(version) < _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
