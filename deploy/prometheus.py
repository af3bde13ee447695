"""The Prometheus that is started beside a gateway: found, started, watched, started again, ended.

Owns: its life, and that nothing of its faults reaches serving. Knows nothing about what is scraped for whom.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import aiohttp

import dashboards
from deploy.prometheus_binary import HOW_TO_GET_IT, find, usable
from deploy.prometheus_claims import claim_folder, claim_port
from deploy.prometheus_log import cannot_record, trouble
from deploy.prometheus_targets import TargetFiles, replace
from deploy.scrape_config import (
    EngineTarget,
    Scraped,
    StateFiles,
    arguments,
    config_text,
    load_folder,
)
from loadgen.discovery import sweep
from serving.config.schema import Deployment, PrometheusSection
from serving.engine.folders import DataFolder
from serving.engine.guardian import Guardian
from serving.engine.logs import end_of_log, size_of_log
from serving.engine.ports import LOOPBACK
from serving.engine.process import EngineProcess, EngineSpec
from serving.engine.states import EngineState
from serving.engine.supervised import exit_words
from serving.errors import Failed

RULES = tuple(Path(dashboards.__file__).parent / "generated" / f"{name}.yaml" for name in ("rules", "alerts"))
ANSWERS_WITHIN_S = 5.0
"""That is waited for at the start: it listens within milliseconds, and reads its old data after that."""
ENDS_WITHIN_S = 10.0
POLL_S = 0.05
LOOK_S = 1.0
STEADY_S = 600.0
"""One that ran for so long and ends is news, and is started again at once."""
PAUSES_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Before it is started again: the first after a steady run, the last for as long as it takes."""
SWEEP_LOOKS = 5
CUT_BYTES = 4096


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
    ends_within_s: float = ENDS_WITHIN_S
    pauses_s: Sequence[float] = PAUSES_S
    steady_s: float = STEADY_S

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


class LocalPrometheus:
    """One deployment's own Prometheus. `start` once and `stop` once; its faults are said, not raised."""

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
        self._port = 0
        self._since = 0
        """Where in the log the process that runs began."""
        self._told_of_no_room = False

    async def start(self, admin_url: str, public_url: str) -> None:
        """Start it for the gateway at these addresses, and return once it listens or cannot.

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
            self._lock = claim_folder(place.files.folder / "lock")
            self._targets.begin(admin_url)
            start = partial(self._start, binary.path, public_url)
            process = await start(place.section.port)
            port, asked = self._port, place.section.port
            moved = f", since port {asked} is taken" if asked not in (0, port) else ""
            self._say(f"Prometheus {binary.version} is at {self.url}{moved} (log: {place.log})")
            self._watching = asyncio.create_task(self._keep(process, start))
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
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        await self._end()

    def _lacks(self) -> None:
        own = self._place.folder.root / "bin"
        how = f"{HOW_TO_GET_IT} (Debian, Ubuntu), or put the program into {own}"
        if self._place.section.enabled is True:
            raise Failed("there is no prometheus on PATH", where="prometheus.enabled", fix=how)
        self._say(f"nothing is recorded over time: there is no Prometheus here; to have one: {how}")

    async def _start(self, program: str, public_url: str, asked: int) -> EngineProcess:
        """Start it at this port or one after it. Raises: Failed, OSError."""
        place = self._place
        port = claim_port(asked)
        scraped = Scraped(place.deployment, public_url, port)
        rules = [rule for rule in place.rules if rule.is_file()]
        replace(place.files.config, config_text(scraped, place.files, rules))
        argv = arguments(program, place.deployment, port, place.files, place.section)
        # Port 0: another program on its port is no reason to wait for its end.
        # It holds the lock as well: one that outlives us by a moment still has the data.
        kept = () if self._lock is None else (self._lock,)
        spec = EngineSpec("prometheus", argv, place.log, port=0, keep_open=kept)
        process = EngineProcess(spec, guardian=self._guardian)
        self._since = size_of_log(place.log)
        try:
            process.start()
        except Failed as error:
            raise Failed(f"cannot be started: {error.__cause__}", where=program) from error
        self._process = process
        await _listens(process, port)
        if process.exit_code is not None:
            raise self._ended(process.exit_code)
        self._port, self.url = port, f"http://{LOOPBACK}:{port}"
        self._changed(self.url)
        return process

    async def _keep(
        self, process: EngineProcess | None, start: Callable[[int], Awaitable[EngineProcess]]
    ) -> None:
        """Start it again whenever it ends, after pauses that grow while it ends soon. Said once a row."""
        pauses_s = self._place.pauses_s
        now, soon, port = asyncio.get_running_loop().time, 0, self._port
        while True:
            began = now()
            if process is not None:
                why = await self._watch(process)
                soon = 0 if now() - began >= self._place.steady_s else soon
                if soon == 0:
                    self._say(
                        f"Prometheus is not running, and serving goes on without it: {why}; it is started "
                        "again, after longer pauses if it ends again soon"
                    )
            await self._end_process()
            await asyncio.sleep(pauses_s[min(soon, len(pauses_s) - 1)])
            soon += 1
            try:
                process = await start(port)
            except (Failed, OSError):
                process = None
            if process is not None and self._port != port:
                port = self._port
                self._say(f"Prometheus is at {self.url} now")

    async def _watch(self, process: EngineProcess) -> Failed:
        """Why it ended, once it has. Says once that it cannot record; puts away what dead loads left."""
        log, read, looks = self._place.log, self._since, 0
        while (code := process.exit_code) is None:
            size = size_of_log(log)
            # A little of what was read already: a line may have been cut.
            found = cannot_record(end_of_log(log, max(0, read - CUT_BYTES))) if size > read else None
            read = size
            if found is not None and not self._told_of_no_room:
                self._told_of_no_room = True
                self._say(f"Prometheus cannot record: {found.what}; {found.fix}; serving goes on")
            if looks % SWEEP_LOOKS == 0:
                sweep(self._place.files.load)
            looks += 1
            await asyncio.sleep(LOOK_S)
        return self._ended(code)

    def _ended(self, code: int) -> Failed:
        # A signal says nothing about the log's old complaints.
        found = trouble(end_of_log(self._place.log, self._since)) if code > 0 else None
        what = f"it ended ({exit_words(code)})" + (f": {found.what}" if found else "")
        return Failed(
            what, where=str(self._place.log), fix=found.fix if found else "see the log's last lines"
        )

    async def _give_up(self, why: str) -> None:
        self._say(f"Prometheus is not running, and serving goes on without it: {why}")
        await self._end()

    async def _end(self) -> None:
        await self._end_process()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _end_process(self) -> None:
        if self.url is not None:
            self.url = None
            self._changed(None)
        if self._process is not None:
            try:
                stopped = await self._process.stop(self._place.ends_within_s)
            except Failed as error:
                self._say(str(error))
            else:
                if stopped.killed:
                    self._say(f"Prometheus did not end in {self._place.ends_within_s:g} s and was killed")
            self._process = None


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
