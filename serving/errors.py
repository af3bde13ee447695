"""The one exception type of teapot and its few children.

Owns: what a user is told when something cannot be done (what happened, where, what to do) and the
exit code that goes with it. Knows nothing about who prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INVALID_MEASUREMENT = 3
EXIT_SIGINT = 130
EXIT_SIGTERM = 143


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what happened, where (`file:line: key`, URL, process), what to do."""

    what: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}; {self.fix}" if self.fix else head


class TeapotError(Exception):
    """Something the user must hear of: one or more problems and the exit code they lead to."""

    exit_code: int = EXIT_FAILED

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.problems: tuple[Problem, ...] = (Problem(what, where, fix),)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> TeapotError:
        """Make one error of several problems, so that all are reported at once.

        Raises: ValueError if `problems` is empty.
        """
        if not problems:
            raise ValueError("an error needs at least one problem")
        error = cls(problems[0].what)
        error.problems = tuple(problems)
        return error

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class Failed(TeapotError):
    """The work was understood and could not be done. Exit code 1."""


class UsageError(TeapotError):
    """A wrong command line, file or value: nothing was started. Exit code 2."""

    exit_code = EXIT_USAGE


class InvalidMeasurement(TeapotError):
    """A measurement that must not be believed, or that does not decide. Exit code 3."""

    exit_code = EXIT_INVALID_MEASUREMENT


class Interrupted(TeapotError):
    """A signal asked us to stop. Exit code 130 (SIGINT) or 143 (SIGTERM)."""

    def __init__(self, *, exit_code: int) -> None:
        super().__init__("interrupted")
        self.exit_code = exit_code
