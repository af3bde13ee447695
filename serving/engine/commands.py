"""Run a program that takes its time, hear its lines, and never leave it behind.

Owns: the child's life while it is heard. Knows nothing about what is run or what the lines mean.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, with all that it said (stdout and stderr together)."""

    code: int
    lines: Sequence[str] = field(default_factory=tuple)


class Runner(Protocol):
    """Something that runs programs: the real one below, or a test's own."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        on_line: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
    ) -> Ran:
        """Run to the end. `environment` is added to ours; `keep_open` are descriptors the child inherits."""
        ...


def run(
    argv: Sequence[str],
    *,
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    keep_open: Sequence[int] = (),
) -> Ran:
    """Run `argv` and hear each line at once; whatever ends us, Ctrl-C included, ends the child's group first.

    A program that cannot be started is a `Ran` with code 127, as a shell has it.
    """
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            cwd=Path(argv[0]).anchor or "/",
            pass_fds=tuple(keep_open),
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        return Ran(127, (str(error),))
    lines: list[str] = []
    try:
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line.rstrip("\n"))
            if on_line:
                on_line(lines[-1])
        return Ran(child.wait(), lines)
    finally:
        if child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.stdout:
            child.stdout.close()
