"""One engine as a child process: started, watched, stopped so that nothing of it is left.

Owns: the process and its log file. Knows nothing about flags, models or readiness.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from serving.engine.guardian import SCRATCH_PREFIX, Guardian
from serving.engine.leftovers import ID_VARIABLE, KEEP_ENVIRONMENT_VISIBLE, Process, kill_all, leftovers
from serving.engine.ports import LOOPBACK, is_free
from serving.errors import Failed

WATCH_S = 0.1
CHILDREN_END_S = 3.0
INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"
GONE_WITHIN_S = 20.0
"""How long the kernel may take to free a killed engine's memory and port."""


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What is to be started. `argv` is complete; `environment` is added to ours."""

    name: str
    argv: Sequence[str]
    log: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: Sequence[str] = ()
    """Variables of ours that the engine must not inherit."""
    keep_open: Sequence[int] = ()
    """Open files that it is to hold too, such as a lock."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """How an engine went: its exit code, seconds it took, and what had to be killed."""

    code: int | None
    took_s: float
    killed: Sequence[Process] = ()


class EngineProcess:
    """An engine's API server and all that it starts, in a session of their own.

    The API server is started with `Popen` and not awaited: an await could be cancelled between the
    fork and our knowing of the child, and a Ctrl-C would then leave an engine behind.
    """

    def __init__(
        self, spec: EngineSpec, engine_id: str | None = None, guardian: Guardian | None = None
    ) -> None:
        self.spec = spec
        self._guardian = guardian
        self.id = engine_id or uuid.uuid4().hex
        self._child: subprocess.Popen[bytes] | None = None
        self._scratch: str | None = None
        self._stopped: Stopped | None = None

    @property
    def url(self) -> str:
        """Where the engine answers once it is up."""
        return f"http://{LOOPBACK}:{self.spec.port}"

    @property
    def pid(self) -> int | None:
        """The API server's pid, which is also the session of all its processes; None before the start."""
        return self._child.pid if self._child else None

    @property
    def exit_code(self) -> int | None:
        """The API server's exit code (-N: ended by signal N); None while it runs or before the start.

        Looks without reaping: until `stop` is done the zombie keeps its pid, and with it the session
        by which leftovers are found, from being given to another program.
        """
        if self._child is None or self._child.returncode is not None:
            return self._child.returncode if self._child else None
        seen = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return None
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def start(self) -> None:
        """Start the engine; it appends to its log by itself. Raises: Failed if it cannot start."""
        spec = self.spec
        try:
            self._scratch = _scratch_folder(spec.environment.get(INDUCTOR_CACHE))
            inherited = {name: value for name, value in os.environ.items() if name not in spec.unset}
            own = {**KEEP_ENVIRONMENT_VISIBLE, "TMPDIR": self._scratch, ID_VARIABLE: self.id}
            own |= self._guardian.mark if self._guardian else {}
            spec.log.parent.mkdir(parents=True, exist_ok=True)
            with spec.log.open("ab") as log:
                self._child = subprocess.Popen(
                    list(spec.argv),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**inherited, **spec.environment, **own},
                    cwd=spec.log.parent,
                    start_new_session=True,
                    pass_fds=spec.keep_open,
                )
            if self._guardian:
                self._guardian.began(self._child.pid, self._scratch)
        except OSError as error:
            self._remove_scratch()
            raise Failed(
                f"engine {spec.name} cannot be started: {error}",
                where=spec.argv[0],
                fix="if its environment is damaged, remove the folder and run teapot engine install",
            ) from error

    async def wait(self) -> int:
        """The exit code, as soon as the API server has ended by itself or by a stop."""
        if self._child is None:
            raise RuntimeError("the engine was not started")
        while (code := self.exit_code) is None:  # noqa: ASYNC110 (a process sets no event)
            await asyncio.sleep(WATCH_S)
        return code

    async def stop(self, within_s: float) -> Stopped:
        """SIGTERM once to the API server, `within_s` seconds for it to end; then SIGKILL all that is left.

        Safe to call again and before a start. A cancellation on the way kills at once and goes on.
        Raises: Failed if processes or the port survive even that.
        """
        if self._child is None:
            return Stopped(None, 0.0)
        if self._stopped is None:
            self._stopped = await self._stop(self._child, within_s)
        return self._stopped

    async def _stop(self, child: subprocess.Popen[bytes], within_s: float) -> Stopped:
        started = time.monotonic()
        killed: dict[int, Process] = {}
        try:
            if self.exit_code is None:
                # Once: a second SIGTERM breaks vLLM's own clean-up (vllm #50529).
                child.send_signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.wait(), within_s)
                if self.exit_code == 0:
                    await self._let_children_end()
            while (alive := self.processes()) or not is_free(LOOPBACK, self.spec.port):
                if time.monotonic() - started > within_s + GONE_WITHIN_S:
                    raise self._still_there(alive)
                late = time.monotonic() - started > within_s + 2 * CHILDREN_END_S
                killed |= {process.pid: process for process in self.kill(trackers=late)}
                await asyncio.sleep(WATCH_S)
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            self._remove_scratch()
        if self._guardian:
            self._guardian.ended(child.pid)
        return Stopped(child.wait(), time.monotonic() - started, tuple(killed.values()))

    async def _let_children_end(self) -> None:
        """After an orderly end, the children's own goodbye."""
        until = time.monotonic() + CHILDREN_END_S
        while self.processes() and time.monotonic() < until:  # noqa: ASYNC110 (nor do these)
            await asyncio.sleep(WATCH_S)

    def processes(self) -> list[Process]:
        """The living processes of the engine, at any depth."""
        return leftovers(self.id, self.pid)

    def kill(self, *, trackers: bool = False) -> list[Process]:
        """SIGKILL the processes of the engine now, without waiting, and say which there were."""
        if self._child is None or self._child.returncode is not None:
            return []
        return kill_all(self.processes, trackers=trackers)

    def _remove_scratch(self) -> None:
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _still_there(self, alive: Sequence[Process]) -> Failed:
        pids = ", ".join(str(process.pid) for process in alive)
        what = f"processes {pids} of engine {self.spec.name}" if alive else f"port {self.spec.port}"
        return Failed(f"{what} could not be freed", where=str(self.spec.log), fix="end them by hand")


def _scratch_folder(inductor_cache: str | None) -> str:
    """A temporary folder of the engine's own, since a killed one leaves rendezvous files and sockets in it.

    Short, since a socket's path is limited to 107 characters. torch keeps its precompiled headers, a minute's
    work, in the temporary folder whatever its cache folder is: that part is a link to what stays.
    """
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
    if inductor_cache:
        Path(inductor_cache).mkdir(parents=True, exist_ok=True)
        (folder / f"torchinductor_{getpass.getuser()}").symlink_to(inductor_cache)
    return str(folder)
