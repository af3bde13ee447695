"""Which processes belong to an engine, found from the outside, and killing them.

Owns: reading /proc for an engine's id and session, and leaving none that is found. Knows nothing about
starting or stopping well. Imports the standard library only: the guardian stands on it.

vLLM's EngineCore and workers survive a killed API server. They inherit the engine's id (TEAPOT_ENGINE_ID)
and its session. vLLM renames them with setproctitle, which overwrites the very memory that
/proc/PID/environ shows unless SPT_NOENV is set, so either mark alone is taken as proof.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ID_VARIABLE = "TEAPOT_ENGINE_ID"
KEEP_ENVIRONMENT_VISIBLE = {"SPT_NOENV": "1"}
PROC = Path("/proc")
KILL_ROUNDS = 5
"""A killed process may have forked just before: look again until nothing new is found."""
RESOURCE_TRACKER = "multiprocessing.resource_tracker"


@dataclass(frozen=True, slots=True)
class Process:
    """A living process."""

    pid: int
    command: str


def leftovers(engine_id: str, session: int | None = None, proc: Path = PROC) -> list[Process]:
    """The living processes that carry the engine's id, or are in its session.

    `session` is the API server's pid, to be given only by who started it and still knows it: a pid is
    used again some day, an id is not. Zombies are not living. Never our own process.
    """
    return marked_processes(ID_VARIABLE, engine_id, () if session is None else (session,), proc)


def marked_processes(
    variable: str, value: str, sessions: Sequence[int] = (), proc: Path = PROC
) -> list[Process]:
    """The living processes with this environment variable, or in one of these sessions; not ourselves."""
    marked = f"{variable}={value}".encode()
    found = []
    for pid in _pids(proc):
        if pid == os.getpid() or not (stat := _stat(proc / str(pid))) or stat[0] == "Z":
            continue
        if stat[1] in sessions or marked in _read(proc / str(pid) / "environ").split(b"\0"):
            command = _read(proc / str(pid) / "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            found.append(Process(pid, command))
    return found


def kill_all(alive: Callable[[], Sequence[Process]], *, trackers: bool) -> list[Process]:
    """SIGKILL what `alive` finds, without waiting, until it finds nothing new; says which there were.

    Python's resource trackers are spared unless asked for: once the others are dead they remove
    what these left in shared memory, and end by themselves.
    """
    killed: dict[int, Process] = {}
    for _ in range(KILL_ROUNDS):
        found = {p.pid: p for p in alive() if trackers or RESOURCE_TRACKER not in p.command}
        if found.keys() <= killed.keys():
            break
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
    return list(killed.values())


def _pids(proc: Path) -> Iterator[int]:
    return (int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())


def _stat(folder: Path) -> tuple[str, int] | None:
    """State letter and session of a process; None if it is gone. The name in between may hold anything."""
    fields = _read(folder / "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[3])) if len(fields) > 3 else None


def _read(path: Path) -> bytes:
    """The file's bytes; nothing if the process is gone or another user's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
