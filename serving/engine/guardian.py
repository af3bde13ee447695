"""Ends a stack's engines if `teapot` itself is killed and cannot.

Owns: both ends of it. Here, `Guardian` starts a process in a session of its own and tells it over a pipe
which engines run; there, `main` reads the pipe until it breaks off, and kills what carries the stack's id.
Knows nothing about what the processes do. Imports the standard library only, so that it starts at once.

A pipe tells of a death whatever its cause: the kernel closes it. The guardian never kills a process without
the id, except in a session that an engine began and whose leader is dead or carries the id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from serving.engine.leftovers import PROC, Process, kill_all, marked_processes

STACK_VARIABLE = "TEAPOT_STACK_ID"
SCRATCH_PREFIX = "teapot-"
FAREWELL = "bye"
POLL_S = 0.05
CLOSES_WITHIN_S = 5.0
TRACKERS_AFTER_S = 3.0
"""What Python's resource trackers get to remove shared memory."""
GIVE_UP_AFTER_S = 30.0


class Guardian:
    """The guardian of one stack, seen from the stack: start it before the first engine, and close it last."""

    def __init__(self, stack_id: str | None = None) -> None:
        self.stack_id = stack_id or uuid.uuid4().hex
        self._process: subprocess.Popen[str] | None = None

    @property
    def mark(self) -> Mapping[str, str]:
        """The environment variable that all processes of the stack must carry."""
        return {STACK_VARIABLE: self.stack_id}

    @property
    def pid(self) -> int | None:
        """Its process; None before the start and after the end."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it, out of reach of the terminal's Ctrl-C and of signals to our group."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "serving.engine.guardian", self.stack_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != STACK_VARIABLE},
            start_new_session=True,
            text=True,
        )

    def began(self, session: int, scratch: str | None) -> None:
        """An engine runs, in this session, with this temporary folder."""
        self._tell({"session": session, "scratch": scratch, "alive": True})

    def ended(self, session: int) -> None:
        """Nothing of that engine is left."""
        self._tell({"session": session, "scratch": None, "alive": False})

    def close(self) -> None:
        """All engines are gone: it ends by itself."""
        if self._process is None:
            return
        self._tell(FAREWELL)
        process, self._process = self._process, None
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(CLOSES_WITHIN_S)
        except subprocess.TimeoutExpired:  # somebody stopped it; there is nothing left for it to do
            process.kill()
            process.wait()

    def _tell(self, message: object) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with suppress(BrokenPipeError):  # it was killed: our own ways down still work
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


def stack_processes(stack_id: str, sessions: Sequence[int], proc: Path = PROC) -> list[Process]:
    """The living processes of a stack: those with its id, and those in a session that is surely its own."""
    return marked_processes(
        STACK_VARIABLE, stack_id, [s for s in sessions if _is_ours(s, stack_id, proc)], proc
    )


def _is_ours(session: int, stack_id: str, proc: Path) -> bool:
    """Whether a session is still the engine's: its leader is gone, or is a process with the id.

    While a session has members its number is given to no other process, so a leader without the id means that
    the engine's session is over and another program has the number.
    """
    folder = proc / str(session)
    try:
        environ = (folder / "environ").read_bytes()
        dead = (folder / "stat").read_text().rpartition(")")[2].split()[:1] == ["Z"]
    except OSError:
        return not folder.exists()
    return dead or f"{STACK_VARIABLE}={stack_id}".encode() in environ.split(b"\0")


def _listen(pipe: IO[str]) -> tuple[bool, dict[int, str | None]]:
    """Read until the pipe ends: whether a farewell was said, and the engines not said to be gone."""
    sessions: dict[int, str | None] = {}
    for line in pipe:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # the writer was killed in the middle of a line
        if message == FAREWELL:
            return True, sessions
        if message["alive"]:
            sessions[message["session"]] = message["scratch"]
        else:
            sessions.pop(message["session"], None)
    return False, sessions


def end_stack(stack_id: str, sessions: Sequence[int]) -> None:
    """Kill the stack's processes until none is left."""
    started = time.monotonic()
    while time.monotonic() - started < GIVE_UP_AFTER_S and stack_processes(stack_id, sessions):
        trackers = time.monotonic() - started > TRACKERS_AFTER_S
        kill_all(lambda: stack_processes(stack_id, sessions), trackers=trackers)
        time.sleep(POLL_S)


def main(stack_id: str) -> None:
    """The guardian's process: wait for the pipe's end, then leave nothing of the stack."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Service managers and terminals signal everyone; this one ends when the other end of its pipe does.
        signal.signal(number, signal.SIG_IGN)
    ended_well, sessions = _listen(sys.stdin)
    if ended_well:
        return
    end_stack(stack_id, list(sessions))
    for scratch in sessions.values():
        if scratch and Path(scratch).name.startswith(SCRATCH_PREFIX):
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
