"""A deployment while it runs: engines up, modes proven, gateway open; and everything down again.

Owns: the order in which parts begin and end, and which engine is in the routing. Knows nothing about
signals or about what the user wants done with the running stack.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deploy.handover import Handovers, Side, Trial
from deploy.leaving import leave
from deploy.marking import Marking, marking
from deploy.plan_start import compare_start
from deploy.prepared import Prepared, PreparedEngine
from deploy.prometheus import LocalPrometheus
from deploy.scrape_config import EngineTarget
from deploy.verdicts import merge, not_in_effect, settled, verdict_table
from serving.config.revisions import OWN, own_revision
from serving.config.units import format_duration
from serving.console import Console
from serving.engine.attestation import attest
from serving.engine.guardian import Guardian
from serving.engine.observe import cache_config
from serving.engine.process import Stopped
from serving.engine.stages import StartStage
from serving.engine.states import EngineState
from serving.engine.supervised import EnginePlan, SupervisedEngine, Surroundings
from serving.engine.supervisor import Supervisor
from serving.engine.watching import Clock
from serving.errors import Failed
from serving.gateway.backends import Backend, BackendState
from serving.gateway.routing_settings import routing_settings
from serving.gateway.server import Gateway
from serving.gateway.settings import edge_settings, gateway_limits, objectives
from serving.modes.mode import Verdict

STOP_MARGIN_S = 15.0
"""Nothing is in flight after the drain. Idle engines took up to 10 s to end on busy cores."""
_BACKEND_STATES: dict[EngineState, BackendState] = {
    EngineState.DRAINING: "draining",
    EngineState.CRASHED: "down",
    EngineState.FAILED: "down",
    EngineState.STOPPED: "down",
}
"""All other states are of an engine that is not ready yet."""


@dataclass(slots=True)
class Stack:
    """One deployment's engines and gateway. `up` once, then `down` once, whatever happened in between."""

    prepared: Prepared
    console: Console
    allow_ineffective: bool = False
    clock: Clock = field(default_factory=Clock)
    gateway: Gateway = field(init=False)
    supervisor: Supervisor = field(init=False)
    prometheus: LocalPrometheus = field(init=False)
    marks: Marking = field(init=False)
    verdicts: list[Verdict] = field(default_factory=list)
    _guardian: Guardian = field(default_factory=Guardian)
    _backends: dict[str, Backend] = field(default_factory=dict)
    _verdicts: dict[str, Sequence[Verdict]] = field(default_factory=dict)
    _handovers: Handovers = field(init=False)
    _revision: str = OWN
    _is_up: bool = False

    def __post_init__(self) -> None:
        deployment = self.prepared.deployment
        section = deployment.gateway
        self._revision = own_revision(deployment) or OWN
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
        around = Surroundings(
            start_timeout_s=deployment.engine.start_timeout,
            stuck_after_s=deployment.engine.stuck_after,
            prove=self._prove,
            changed=self._changed,
            stage=self._stage,
            say=self.console.say,
            guardian=self._guardian,
            clock=self.clock,
        )
        trial = Trial(
            model=self.prepared.model.name,
            from_tokens=section.routing.prefill_from_tokens,
            max_model_len=self.prepared.context.max_model_len,
        )
        self._handovers = Handovers(deployment.modes, trial)
        plans = [self._plan(engine) for engine in self.prepared.engines]
        self.supervisor = Supervisor(plans, around, together=self.prepared.together)

    @property
    def engine_urls(self) -> tuple[str, ...]:
        """Where the engines themselves answer, on loopback."""
        return tuple(engine.url for engine in self.supervisor.engines)

    async def up(self) -> None:
        """Bind the addresses, start the engines, prove their modes, and take requests.

        Raises: Failed with the cause; what was started is ended by `down`.
        """
        section = self.prepared.deployment.gateway
        # First of all: a taken port is said at once, and not after a minute of loading.
        await self.gateway.start(section.host, section.port, section.admin_host, section.admin_port)
        for backend in self._backends.values():
            self.gateway.add(backend)
        began = time.monotonic()
        for line in self._starting():
            self.console.say(line)
        self.marks.starting(self._what())
        self._guardian.start()
        await self.prometheus.start(self.gateway.admin_url, self.gateway.public_url)
        await self.supervisor.up()
        self._is_up = True
        if self.verdicts:
            self.console.say(verdict_table(self.verdicts))
        self.gateway.open(self.verdicts)
        self.marks.ready(self.gateway.state)
        self.console.say(f"ready after {format_duration(time.monotonic() - began)}")

    async def ended(self) -> Failed:
        """Keep the engines up, until none is left that could serve; returns why."""
        return await self.supervisor.keep()

    async def down(self) -> None:
        """Stop taking requests, let those in flight finish, end the engines, close the addresses."""
        section = self.prepared.deployment.gateway
        self.marks.stopping(self.gateway.state)
        try:
            await leave(self.gateway, section, self.console)
            self.supervisor.leave()
            try:
                stopped = await self.supervisor.down(section.drain_timeout + STOP_MARGIN_S)
            finally:
                await self.prometheus.stop()
            # Only now: until here the guardian was needed, and if something is left it still is.
            self._guardian.close()
            self._tell(stopped)
        finally:
            await self.gateway.stop()
            await asyncio.to_thread(self.marks.close)

    def _plan(self, engine: PreparedEngine) -> EnginePlan:
        slot = engine.context.slot
        url = f"http://127.0.0.1:{engine.spec.port}"
        backend = self._backends[slot.name] = Backend(url, role=slot.role, revision=self._revision)
        return EnginePlan(engine.spec, slot.role, lambda: backend.in_flight)

    async def _prove(self, engine: SupervisedEngine, log: Sequence[str]) -> None:
        prepared = self.prepared
        context = next(e.context for e in prepared.engines if e.spec.name == engine.name)
        if prepared.fit:
            kept = next(e.spec.log for e in prepared.engines if e.spec.name == engine.name)
            compare_start(
                prepared.fit,
                engine.name,
                log,
                await cache_config(engine.url),
                kept=kept.with_suffix(".plan.json"),
                console=self.console,
            )
        began = time.monotonic()
        verdicts = await attest(
            engine.url,
            prepared.deployment.modes,
            context,
            log,
            processes=engine.processes,
            references=prepared.references,
        )
        took = format_duration(time.monotonic() - began)
        if verdicts:
            self.console.say(f"{self._label(engine.name)}modes probed in {took}")
        self._judge({engine.name: verdicts})
        began = time.monotonic()
        found = await self._handovers.settle(Side(engine.name, context.slot.role, engine.url))
        if found:
            took = format_duration(time.monotonic() - began)
            self.console.say(f"{' and '.join(found)} tried together in {took}")
            self._judge({name: settled(self._verdicts[name], verdict) for name, verdict in found.items()})

    def _judge(self, found: Mapping[str, Sequence[Verdict]]) -> None:
        """Remember engines' verdicts, and refuse an engine in which a mode is not in effect."""
        self._verdicts |= found
        self.verdicts = merge(self._verdicts)
        if self._is_up:
            self.gateway.state.verdicts = tuple(self.verdicts)
        wrong = [v for v in merge(found) if v.in_effect is False]
        if wrong and not self.allow_ineffective:
            self.console.say(verdict_table(self.verdicts))
            raise Failed.of([not_in_effect(verdict) for verdict in wrong])

    def _changed(self, changed: SupervisedEngine) -> None:
        """Put the gateway's routing right: at once, before anything else is done about the change."""
        serving = {engine.name for engine in self.supervisor.serving()}
        if changed.state is EngineState.CRASHED:
            self._backends[changed.name].failures += 1
            self._handovers.lost(changed.name)
        seen = self._backends[changed.name]
        self.marks.engine(changed.name, seen, changed.state)
        self.prometheus.see(changed.name, EngineTarget(seen.url, seen.revision, seen.role), changed.state)
        for engine in self.supervisor.engines:
            backend = self._backends[engine.name]
            backend.state = (
                "ready" if engine.name in serving else _BACKEND_STATES.get(engine.state, "starting")
            )

    def _starting(self) -> list[str]:
        prepared = self.prepared
        count = len(prepared.engines)
        many = f"{count} engines " + ("side by side: " if prepared.together else "one after another: ")
        what = self._what()
        logs = [f"log: {engine.spec.log}" for engine in prepared.engines]
        if count == 1:
            return [f"starting {what} ({logs[0]})"]
        lines = [f"starting {many}{what}"]
        lines += [
            f"  {e.spec.name:<{self._width()}}  {log}" for e, log in zip(prepared.engines, logs, strict=True)
        ]
        return lines

    def _what(self) -> str:
        prepared = self.prepared
        return f"vLLM {prepared.environment.version} on {prepared.context.device} with {prepared.model.name}"

    def _stage(self, name: str, stage: StartStage, at_s: float) -> None:
        self.console.say(f"  {at_s:6.1f} s  {self._label(name)}{stage.value}")

    def _label(self, name: str) -> str:
        return f"{name:<{self._width()}}  " if len(self.prepared.engines) > 1 else ""

    def _width(self) -> int:
        return max(len(engine.spec.name) for engine in self.prepared.engines)

    def _tell(self, stopped: dict[str, Stopped]) -> None:
        took = [how.took_s for how in stopped.values()]
        if took:
            subject, left = ("engine", "it") if len(took) == 1 else (f"{len(took)} engines", "them")
            self.console.say(f"{subject} ended in {format_duration(max(took))}; nothing of {left} is left")
