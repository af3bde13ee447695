"""The Prometheus that is started beside a gateway: found, started, watched, ended.

Owns: its life, and that nothing of its faults reaches serving. Knows nothing about what is scraped for whom.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

import dashboards
from deploy.prometheus_binary import HOW_TO_GET_IT, Binary, find, usable
from deploy.prometheus_log import cannot_record, trouble
from deploy.prometheus_targets import TargetFiles, replace
from deploy.scrape_config import EngineTarget, StateFiles, arguments, config_text, ports_to_try
from loadgen.discovery import sweep
from serving.config.schema import Deployment, PrometheusSection
from serving.engine.folders import DataFolder
from serving.engine.guardian import Guardian
from serving.engine.logs import end_of_log, size_of_log
from serving.engine.ports import LOOPBACK, free_port, is_free
from serving.engine.process import EngineProcess, EngineSpec
from serving.engine.states import EngineState
from serving.engine.supervised import exit_words
from serving.errors import Failed

RULES = tuple(Path(dashboards.__file__).parent / "generated" / f"{name}.yaml" for name in ("rules", "alerts"))
ANSWERS_WITHIN_S = 5.0
"""Of the start that is waited for: it listens within milliseconds, and reads what it recorded before later."""
ENDS_WITHIN_S = 10.0
POLL_S = 0.05
LOOK_S = 1.0
SWEEP_LOOKS = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Which deployment it is for, what its file says of it, and where things lie on this machine."""

    deployment: str
    section: PrometheusSection
    folder: DataFolder
    stamp: str
    """Of this start, for the log's name."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    rules: Sequence[Path] = RULES
    """Those that are there are loaded."""

    @property
    def files(self) -> StateFiles:
        """Its files; the load generators' are shared by all deployments."""
        state = self.folder.state
        return StateFiles(state / "prometheus" / self.deployment, load_folder(self.folder))

    @property
    def log(self) -> Path:
        """Its log, beside the engines'."""
        return self.folder.logs / f"{self.deployment}-prometheus-{self.stamp}.log"


def here(deployment: Deployment, folder: DataFolder, stamp: str | None = None) -> Place:
    """Where a deployment's Prometheus is on this machine, for a start now."""
    now = stamp or datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Place(deployment.name, deployment.prometheus, folder, now)


def load_folder(folder: DataFolder) -> Path:
    """Where load generators on this machine say where they are."""
    return folder.state / "load"


class LocalPrometheus:
    """One deployment's own Prometheus. `start` once and `stop` once; what goes wrong with it is said, not raised."""

    def __init__(
        self,
        place: Place,
        guardian: Guardian,
        say: Callable[[str], None],
        changed: Callable[[str | None], None] = lambda url: None,
    ) -> None:
        self.url: str | None = None
        """Where it answers, as long as it runs."""
        self._place = place
        self._targets = TargetFiles(place.deployment, place.files, say)
        self._guardian = guardian
        self._say = say
        self._changed = changed
        self._process: EngineProcess | None = None
        self._watching: asyncio.Task[None] | None = None
        self._lock: int | None = None

    async def start(self, admin_url: str) -> None:
        """Start it, and return once it listens or cannot.

        Raises: Failed where the deployment file demands one and there is no program of it.
        """
        place = self._place
        if place.section.enabled is False:
            return
        program = find(place.folder, place.environ)
        if program is None:
            self._lacks()
            return
        try:
            binary = await asyncio.to_thread(usable, program)
            self._lock = lock(place.files.folder / "lock")
            self._targets.begin(admin_url)
            await self._start(binary)
        except Failed as error:
            await self._give_up(str(error))
        except OSError as error:
            await self._give_up(f"{place.files.folder}: its files cannot be written: {error}")

    def see(self, name: str, engine: EngineTarget, state: EngineState) -> None:
        """Take note that an engine changed its state."""
        if self._lock is not None:
            self._targets.see(name, engine, state)

    async def stop(self) -> None:
        """End it. Safe to call before a start and again."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
            self._watching = None
        await self._end()

    def _lacks(self) -> None:
        own = self._place.folder.root / "bin"
        how = f"{HOW_TO_GET_IT} (Debian, Ubuntu), or put the program into {own}"
        if self._place.section.enabled is True:
            raise Failed("there is no prometheus on PATH", where="prometheus.enabled", fix=how)
        self._say(f"nothing is recorded over time: there is no Prometheus here; to have one: {how}")

    async def _start(self, binary: Binary) -> None:
        place = self._place
        rules = [rule for rule in place.rules if rule.is_file()]
        for port in _candidates(place.section.port):
            replace(place.files.config, config_text(place.deployment, port, place.files, rules))
            argv = arguments(binary.path, place.deployment, port, place.files, place.section)
            # Port 0: another program on its port is no reason to wait for its end.
            process = EngineProcess(
                EngineSpec("prometheus", argv, place.log, port=0), guardian=self._guardian
            )
            self._process = process
            try:
                process.start()
            except Failed as error:
                raise Failed(f"cannot be started: {error.__cause__}", where=binary.path) from error
            await _listens(process, port)
            if process.exit_code is not None and not is_free(LOOPBACK, port):
                await self._end_process()  # somebody was quicker to take the port
                continue
            self._is_up(binary, port)
            return
        raise self._no_port()

    def _no_port(self) -> Failed:
        ports = ports_to_try(self._place.section.port)
        return Failed(
            f"ports {ports[0]} to {ports[-1]} are taken", where="prometheus.port", fix="set it to a free one"
        )

    def _is_up(self, binary: Binary, port: int) -> None:
        self.url = f"http://{LOOPBACK}:{port}"
        self._changed(self.url)
        asked = self._place.section.port
        moved = f", since port {asked} is taken" if asked not in (0, port) else ""
        self._say(f"Prometheus {binary.version} is at {self.url}{moved} (log: {self._place.log})")
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Say once that it ended, or that it cannot record; and put away what dead load generators left."""
        process, log = self._process, self._place.log
        assert process is not None
        read, looks, told = 0, 0, False
        while (code := process.exit_code) is None:
            if not told and (size := size_of_log(log)) > read:
                # A little of what was read already: a line may have been cut.
                found = cannot_record(end_of_log(log, max(0, read - 4096)))
                read = size
                if found is not None:
                    told = True
                    self._say(f"Prometheus cannot record: {found.what}; {found.fix}; serving goes on")
            if looks % SWEEP_LOOKS == 0:
                sweep(self._place.files.load)
            looks += 1
            await asyncio.sleep(LOOK_S)
        found = trouble(end_of_log(log, 0)) if code > 0 else None
        why = f": {found.what}; {found.fix}" if found else f"; its log: {log}"
        await self._give_up(f"it ended ({exit_words(code)}){why}")

    async def _give_up(self, why: str) -> None:
        self._say(f"Prometheus is not running, and serving goes on without it: {why}")
        await self._end()

    async def _end(self) -> None:
        if self.url is not None:
            self.url = None
            self._changed(None)
        await self._end_process()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            stopped = await process.stop(ENDS_WITHIN_S)
        except Failed as error:
            self._say(str(error))
        else:
            if stopped.killed:
                self._say(f"Prometheus did not end within {ENDS_WITHIN_S:g} s and was killed")


def lock(path: Path) -> int:
    """Hold a deployment's folder; the kernel lets go with the process. Raises: Failed if another has it; OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Failed(
            "another teapot serves a deployment of this name, and its Prometheus has the data",
            where=str(path.parent),
            fix="give this deployment another name",
        ) from error
    return descriptor


def _candidates(port: int) -> Iterator[int]:
    if port == 0:
        yield free_port()
    yield from (each for each in ports_to_try(port) if port and is_free(LOOPBACK, each))


async def _listens(process: EngineProcess, port: int) -> None:
    """Return once it answers, has ended, or takes long (it then answers later)."""
    until = asyncio.get_running_loop().time() + ANSWERS_WITHIN_S
    timeout = aiohttp.ClientTimeout(total=1.0)
    async with aiohttp.ClientSession(f"http://{LOOPBACK}:{port}", timeout=timeout) as session:
        while process.exit_code is None and asyncio.get_running_loop().time() < until:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with session.get("/-/healthy") as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(POLL_S)
