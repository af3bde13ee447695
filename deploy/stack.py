"""A deployment while it runs: engines up, modes proven, gateway open; and everything down again.

Owns: the order in which parts begin and end. Knows nothing about signals, about what the user wants done with
the running stack, or about how engines are kept (`engine_groups`).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from deploy.admin_token import make_token, remove_token, write_token
from deploy.engine_group import Around, EngineGroup
from deploy.engine_groups import STOP_MARGIN_S, EngineGroups
from deploy.leaving import leave
from deploy.marking import Marking, marking
from deploy.prepared import Among, Prepared, prepare, share_cores
from deploy.prometheus import LocalPrometheus
from serving.config.revisions import OWN, own_revision
from serving.config.units import format_duration
from serving.console import Console
from serving.engine.guardian import Guardian
from serving.engine.process import Stopped
from serving.engine.supervisor import Supervisor
from serving.engine.watching import Clock
from serving.errors import Failed
from serving.gateway.revisions import Asked
from serving.gateway.routing_settings import routing_settings
from serving.gateway.server import Gateway
from serving.gateway.settings import edge_settings, gateway_limits, objectives
from serving.gateway.state import OwnRevision
from serving.modes.mode import Verdict


@dataclass(slots=True)
class Stack:
    """One deployment's engines and gateway. `up` once, then `down` once, whatever happened in between."""

    prepared: Prepared
    console: Console
    allow_ineffective: bool = False
    clock: Clock = field(default_factory=Clock)
    gateway: Gateway = field(init=False)
    prometheus: LocalPrometheus = field(init=False)
    marks: Marking = field(init=False)
    engines: EngineGroups = field(init=False)
    _own: EngineGroup = field(init=False)
    _guardian: Guardian = field(default_factory=Guardian)
    _names: list[str] = field(default_factory=list)
    """Of the models that clients have been able to ask for."""

    def __post_init__(self) -> None:
        deployment = self.prepared.deployment
        section = deployment.gateway
        self.gateway = Gateway(
            deployment.name,
            gateway_limits(section),
            edge_settings(section, self.prepared.beside),
            routing_settings(deployment, self.prepared.beside),
            objectives(deployment),
        )
        self.prometheus = LocalPrometheus(
            self.prepared.prometheus, self._guardian, self.console.say, self.gateway.recorded_at
        )
        self.marks = marking(deployment, self.prepared.beside, self.console.say)
        around = Around(
            self.gateway,
            self.prometheus,
            self.marks,
            self.console,
            self._guardian,
            self.clock,
            self.allow_ineffective,
        )
        revision = own_revision(deployment) or OWN
        self._own = EngineGroup(revision, self.prepared, around, OwnRevision(file=self.prepared.file))
        self.engines = EngineGroups(around, self._own, self._plan, make_token())
        self.gateway.keeper = self.engines
        self._names.append(self.prepared.model.name)

    @property
    def supervisor(self) -> Supervisor:
        """Of the engines that were started first."""
        return self._own.supervisor

    @property
    def verdicts(self) -> list[Verdict]:
        """On their modes."""
        return self._own.verdicts

    @property
    def engine_urls(self) -> tuple[str, ...]:
        """Where the engines themselves answer, on loopback."""
        return tuple(url for group in self.engines.groups.values() for url in group.urls)

    async def up(self) -> None:
        """Bind the addresses, start the engines, prove their modes, and take requests.

        Raises: Failed with the cause; what was started is ended by `down`.
        """
        section = self.prepared.deployment.gateway
        # First of all: a taken port is said at once, and not after a minute of loading.
        await self.gateway.start(section.host, section.port, section.admin_host, section.admin_port)
        self._let_in()
        self._own.add()
        began = time.monotonic()
        self.marks.starting(self._own.what())
        self._guardian.start()
        await self.prometheus.start(self.gateway.admin_url, self.gateway.public_url)
        await self._own.up()
        self.gateway.open(self.verdicts)
        self.engines.keep(self._own)
        self.marks.ready(self.gateway.state)
        self.console.say(f"ready after {format_duration(time.monotonic() - began)}")

    async def ended(self) -> Failed:
        """Return when no engine is left that could serve, and why."""
        return await self.engines.ended()

    async def down(self) -> None:
        """Stop taking requests, let those in flight finish, end the engines, close the addresses."""
        section = self.prepared.deployment.gateway
        self.marks.stopping(self.gateway.state)
        try:
            await leave(self.gateway, section, self.console)
            try:
                stopped = await self.engines.down(section.drain_timeout + STOP_MARGIN_S)
            finally:
                await self.prometheus.stop()
            # Only now: until here the guardian was needed, and if something is left it still is.
            self._guardian.close()
            self._tell(stopped)
        finally:
            remove_token(self.gateway.state.token_file)
            await self.gateway.stop()
            await asyncio.to_thread(self.marks.close)

    def _let_in(self) -> None:
        """Put the token for changes of engines where this user's other programs find it."""
        port = self.gateway.admin_url.rpartition(":")[2]
        folder = self.prepared.prometheus.folder.state / "admin"
        path = folder / f"{self.prepared.deployment.name}-{port}.token"
        write_token(path, self.engines.token)
        self.gateway.state.token_file = str(path)

    def _plan(self, asked: Asked) -> Prepared:
        """Another revision beside those that run, by what is free now. Raises: TeapotError."""
        groups = self.engines.groups.values()
        taken = frozenset[int]().union(*(group.prepared.devices for group in groups))
        prepared = prepare(
            asked.file,
            (),
            self.console,
            allow_ineffective=self.allow_ineffective,
            among=Among(asked.name, taken, tuple(self._names)),
        )
        self._names.append(prepared.model.name)
        if share_cores(prepared, [group.prepared for group in groups]):
            self.console.say(
                f"note: {asked.name} shares cores with engines that run: under load its start takes minutes, "
                "and both are slower; give each its own with engine.cores"
            )
        return prepared

    def _tell(self, stopped: dict[str, Stopped]) -> None:
        took = [how.took_s for how in stopped.values()]
        if took:
            subject, left = ("engine", "it") if len(took) == 1 else (f"{len(took)} engines", "them")
            self.console.say(f"{subject} ended in {format_duration(max(took))}; nothing of {left} is left")
