"""The engines of one revision: their start, the proof of their modes, their places in the routing, their end.

Owns: one revision's prepared deployment, supervisor, backends, verdicts and handovers. Knows nothing about
other revisions, weights, or who wants it up or down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deploy.handover import Handovers, Side, Trial
from deploy.marking import Marking
from deploy.plan_start import compare_start
from deploy.prepared import Prepared, PreparedEngine
from deploy.prometheus import LocalPrometheus
from deploy.scrape_config import EngineTarget
from deploy.verdicts import merge, not_in_effect, settled, verdict_table
from serving.config.units import format_duration
from serving.console import Console
from serving.engine.attestation import attest
from serving.engine.guardian import Guardian
from serving.engine.memory import resident_bytes
from serving.engine.observe import cache_config
from serving.engine.process import Stopped
from serving.engine.stages import StartStage
from serving.engine.states import EngineState
from serving.engine.supervised import EnginePlan, SupervisedEngine, Surroundings
from serving.engine.supervisor import Supervisor
from serving.engine.watching import Clock
from serving.errors import Failed
from serving.gateway.backends import Backend, BackendState
from serving.gateway.server import Gateway
from serving.gateway.state import OwnRevision, RevisionState
from serving.modes.mode import Verdict

LOOK_S = 0.05
NO_MORE_COME_S = 0.1
"""After engines are out of the routing, until the gateway's workers know and have told what they have."""
MEMORY_EVERY_S = 10.0
_BACKEND_STATES: dict[EngineState, BackendState] = {
    EngineState.DRAINING: "draining",
    EngineState.CRASHED: "down",
    EngineState.FAILED: "down",
    EngineState.STOPPED: "down",
}
"""All other states are of an engine that is not ready yet."""


@dataclass(frozen=True, slots=True)
class Around:
    """What all revisions of one running deployment share."""

    gateway: Gateway
    prometheus: LocalPrometheus
    marks: Marking
    console: Console
    guardian: Guardian
    clock: Clock
    allow_ineffective: bool = False


@dataclass(slots=True)
class EngineGroup:
    """One revision's engines: `add` and `up`, then `keep`, then `leave` and `down`, come what may."""

    revision: str
    prepared: Prepared
    around: Around
    told: OwnRevision
    """What `GET /status` says of it."""
    named: bool = False
    """Whether what is said of it must name the revision: others run beside it."""
    supervisor: Supervisor = field(init=False)
    verdicts: list[Verdict] = field(default_factory=list)
    _backends: dict[str, Backend] = field(default_factory=dict)
    _verdicts: dict[str, Sequence[Verdict]] = field(default_factory=dict)
    _handovers: Handovers = field(init=False)

    def __post_init__(self) -> None:
        deployment, around = self.prepared.deployment, self.around
        surroundings = Surroundings(
            start_timeout_s=deployment.engine.start_timeout,
            stuck_after_s=deployment.engine.stuck_after,
            prove=self._prove,
            changed=self._changed,
            stage=self._stage,
            say=self._say,
            guardian=around.guardian,
            clock=around.clock,
        )
        trial = Trial(
            model=self.prepared.model.name,
            from_tokens=deployment.gateway.routing.prefill_from_tokens,
            max_model_len=self.prepared.context.max_model_len,
        )
        self._handovers = Handovers(deployment.modes, trial)
        plans = [self._plan(engine) for engine in self.prepared.engines]
        self.supervisor = Supervisor(plans, surroundings, together=self.prepared.together)

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the engines themselves answer, on loopback."""
        return tuple(engine.url for engine in self.supervisor.engines)

    def add(self) -> None:
        """Put its backends behind the gateway; none is ready yet."""
        for backend in self._backends.values():
            self.around.gateway.add(backend)

    async def up(self) -> None:
        """Start the engines and prove their modes. Raises: Failed; what was started is ended by `down`."""
        for line in self._starting():
            self._say(line)
        self._tell("starting")
        began = time.monotonic()
        await self.supervisor.up()
        self.told.up_in_s = time.monotonic() - began
        if self.verdicts:
            self._say(verdict_table(self.verdicts))
        self._tell("ready")

    async def keep(self) -> Failed:
        """Keep the engines up, until none is left that could serve; returns why."""
        watching = asyncio.create_task(self._watch_memory())
        try:
            return await self.supervisor.keep()
        finally:
            watching.cancel()

    def leave(self) -> None:
        """Take no new requests any more."""
        self.supervisor.leave()

    async def finished(self, within_s: float) -> int:
        """Wait until no request is left at its engines; returns how many still are after that time."""
        until = time.monotonic() + within_s
        await asyncio.sleep(NO_MORE_COME_S)
        while (left := sum(backend.in_flight for backend in self._backends.values())) > 0:
            if time.monotonic() >= until:
                return left
            await asyncio.sleep(LOOK_S)
        return 0

    async def down(self, within_s: float) -> dict[str, Stopped]:
        """End the engines; how each that ran went. Raises: Failed if something cannot be ended."""
        return await self.supervisor.down(within_s)

    def remove(self) -> None:
        """Take its backends from behind the gateway."""
        there = set(self.around.gateway.state.backends)
        for backend in self._backends.values():
            if backend in there:
                self.around.gateway.state.backends.remove(backend)

    def what(self) -> str:
        """What it serves, in words."""
        prepared = self.prepared
        return f"vLLM {prepared.environment.version} on {prepared.context.device} with {prepared.model.name}"

    def _plan(self, engine: PreparedEngine) -> EnginePlan:
        slot = engine.context.slot
        url = f"http://127.0.0.1:{engine.spec.port}"
        backend = self._backends[slot.name] = Backend(url, role=slot.role, revision=self.revision)
        return EnginePlan(engine.spec, slot.role, lambda: backend.in_flight)

    async def _prove(self, engine: SupervisedEngine, log: Sequence[str]) -> None:
        prepared = self.prepared
        mine = next(one for one in prepared.engines if one.spec.name == engine.name)
        if prepared.fit:
            compare_start(
                prepared.fit,
                engine.name,
                log,
                await cache_config(engine.url),
                kept=mine.spec.log.with_suffix(".plan.json"),
                console=self.around.console,
            )
        began = time.monotonic()
        verdicts = await attest(
            engine.url,
            prepared.deployment.modes,
            mine.context,
            log,
            processes=engine.processes,
            references=prepared.references,
        )
        took = format_duration(time.monotonic() - began)
        if verdicts:
            self._say(f"{self._label(engine.name)}modes probed in {took}")
        self._judge({engine.name: verdicts})
        began = time.monotonic()
        found = await self._handovers.settle(Side(engine.name, mine.context.slot.role, engine.url))
        if found:
            took = format_duration(time.monotonic() - began)
            self._say(f"{' and '.join(found)} tried together in {took}")
            self._judge({name: settled(self._verdicts[name], verdict) for name, verdict in found.items()})

    def _judge(self, found: Mapping[str, Sequence[Verdict]]) -> None:
        """Remember engines' verdicts, and refuse an engine in which a mode is not in effect."""
        self._verdicts |= found
        self.verdicts = merge(self._verdicts)
        self.told.verdicts = tuple(self.verdicts)
        wrong = [v for v in merge(found) if v.in_effect is False]
        if wrong and not self.around.allow_ineffective:
            self._say(verdict_table(self.verdicts))
            raise Failed.of([not_in_effect(verdict) for verdict in wrong])

    def _changed(self, changed: SupervisedEngine) -> None:
        """Put the gateway's routing right: at once, before anything else is done about the change."""
        serving = {engine.name for engine in self.supervisor.serving()}
        if changed.state is EngineState.CRASHED:
            self._backends[changed.name].failures += 1
            self._handovers.lost(changed.name)
        if changed.state is EngineState.PROVING and self.told.state == "starting":
            self._tell("proving")
        seen = self._backends[changed.name]
        name = f"{self.revision}/{changed.name}" if self.named else changed.name
        self.around.marks.engine(name, seen, changed.state)
        self.around.prometheus.see(name, EngineTarget(seen.url, seen.revision, seen.role), changed.state)
        for engine in self.supervisor.engines:
            backend = self._backends[engine.name]
            backend.state = (
                "ready" if engine.name in serving else _BACKEND_STATES.get(engine.state, "starting")
            )

    async def _watch_memory(self) -> None:
        """Have each backend know what its engine has in memory."""
        while True:
            for engine in self.supervisor.engines:
                # In a thread: /proc of a busy machine takes longer than a token may wait.
                found = await asyncio.to_thread(_memory, engine)
                self._backends[engine.name].memory_bytes = found
            await self.around.clock.sleep(MEMORY_EVERY_S)

    def _tell(self, state: RevisionState) -> None:
        self.told.state = state
        self.around.gateway.state.tell(self.revision, self.told)

    def _starting(self) -> list[str]:
        prepared = self.prepared
        count = len(prepared.engines)
        many = f"{count} engines " + ("side by side: " if prepared.together else "one after another: ")
        what = self.what()
        logs = [f"log: {engine.spec.log}" for engine in prepared.engines]
        if count == 1:
            return [f"starting {what} ({logs[0]})"]
        lines = [f"starting {many}{what}"]
        lines += [
            f"  {e.spec.name:<{self._width()}}  {log}" for e, log in zip(prepared.engines, logs, strict=True)
        ]
        return lines

    def _say(self, text: str) -> None:
        self.around.console.say(f"{self.revision}: {text}" if self.named else text)

    def _stage(self, name: str, stage: StartStage, at_s: float) -> None:
        self._say(f"  {at_s:6.1f} s  {self._label(name)}{stage.value}")

    def _label(self, name: str) -> str:
        return f"{name:<{self._width()}}  " if len(self.prepared.engines) > 1 else ""

    def _width(self) -> int:
        return max(len(engine.spec.name) for engine in self.prepared.engines)


def _memory(engine: SupervisedEngine) -> int | None:
    return resident_bytes(process.pid for process in engine.processes())
