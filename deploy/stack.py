"""A deployment while it runs: engine up, modes proven, gateway open; and everything down again.

Owns: the order in which parts begin and end. Knows nothing about signals or about what the user wants done
with the running stack.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from deploy.prepared import Prepared
from serving.config.units import format_duration
from serving.console import Console
from serving.engine.attestation import attest
from serving.engine.causes import cause_of
from serving.engine.logs import LogTail
from serving.engine.process import EngineProcess
from serving.engine.readiness import start_engine
from serving.engine.stages import StartStage
from serving.errors import Failed, Problem
from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway
from serving.modes.mode import Verdict

STOP_MARGIN_S = 5.0
"""After the drain nothing is in flight, so an engine that takes longer to end than this is stuck."""


@dataclass(slots=True)
class Stack:
    """One deployment's engine and gateway. `up` once, then `down` once, whatever happened in between."""

    prepared: Prepared
    console: Console
    allow_ineffective: bool = False
    gateway: Gateway = field(init=False)
    engine: EngineProcess = field(init=False)
    backend: Backend = field(init=False)
    log: LogTail | None = None
    verdicts: list[Verdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        section = self.prepared.deployment.gateway
        self.gateway = Gateway(self.prepared.deployment.name, GatewayLimits(max_body_bytes=section.max_body))
        self.engine = EngineProcess(self.prepared.spec)
        self.backend = Backend(self.engine.url)

    async def up(self) -> None:
        """Bind the addresses, start the engine, prove its modes, and take requests.

        Raises: Failed with the cause; what was started is ended by `down`.
        """
        section = self.prepared.deployment.gateway
        # First of all: a taken port is said at once, and not after a minute of loading.
        await self.gateway.start(section.host, section.port, section.admin_host, section.admin_port)
        self.gateway.add(self.backend)
        began = time.monotonic()
        self.console.say(self._starting())
        timeout_s = self.prepared.deployment.engine.start_timeout
        self.log = await start_engine(self.engine, timeout_s, self._stage)
        self.verdicts = await self._prove(self.log)
        self.backend.state = "ready"
        self.gateway.open(self.verdicts)
        self.console.say(f"ready after {format_duration(time.monotonic() - began)}")

    async def _prove(self, log: LogTail) -> list[Verdict]:
        modes = self.prepared.deployment.modes
        if not modes:
            return []
        began = time.monotonic()
        verdicts = await attest(self.engine.url, modes, self.prepared.context, log.lines)
        self.console.say(f"modes probed in {format_duration(time.monotonic() - began)}")
        self.console.say(verdict_table(verdicts))
        wrong = [verdict for verdict in verdicts if verdict.in_effect is False]
        if wrong and not self.allow_ineffective:
            raise Failed.of([_not_in_effect(verdict) for verdict in wrong])
        return verdicts

    async def ended(self) -> Failed:
        """Wait until the engine ends by itself, take it out of the gateway, and say why it ended."""
        code = await self.engine.wait()
        self.backend.state = "down"
        cause = cause_of(self.log.finish()) if self.log else None
        return Failed(
            f"the engine ended while serving ({exit_words(code)})" + (f": {cause.cause}" if cause else ""),
            where=str(self.prepared.spec.log),
            fix=cause.cure if cause else "see the log's last lines",
        )

    async def down(self) -> None:
        """Stop taking requests, let those in flight finish, end the engine, close the addresses."""
        drain_s = self.prepared.deployment.gateway.drain_timeout
        if self.gateway.state.in_flight:
            self.console.say(
                f"finishing {self.gateway.state.in_flight} requests (up to {format_duration(drain_s)})"
            )
        try:
            cut = await self.gateway.drain(drain_s)
            if cut:
                self.console.say(f"{cut} requests did not finish in time and were ended with an error")
            self.backend.state = "down"
            stopped = await self.engine.stop(within_s=drain_s + STOP_MARGIN_S)
            if stopped.code is not None:
                self.console.say(f"engine ended in {format_duration(stopped.took_s)}; nothing of it is left")
        finally:
            await self.gateway.stop()

    def _starting(self) -> str:
        version, device = self.prepared.environment.version, self.prepared.context.device
        model, log = self.prepared.model.name, self.prepared.spec.log
        return f"starting vLLM {version} on {device} with {model} (log: {log})"

    def _stage(self, stage: StartStage, at_s: float) -> None:
        self.console.say(f"  {at_s:6.1f} s  {stage.value}")


def verdict_table(verdicts: list[Verdict]) -> str:
    """The verdicts as lines for people, warnings below the mode that they belong to."""
    words = {True: "in effect", False: "NOT IN EFFECT", None: "cannot tell"}
    kind_width = max((len(v.kind) for v in verdicts), default=0)
    lines: list[str] = []
    for verdict in verdicts:
        lines.append(f"  {verdict.kind:<{kind_width}}  {words[verdict.in_effect]:<13}  {verdict.evidence}")
        lines += [f"  {'':<{kind_width}}  warning: {warning}" for warning in verdict.warnings]
    return "\n".join(lines)


def exit_words(code: int) -> str:
    """An exit code for people; negative ones are signals."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _not_in_effect(verdict: Verdict) -> Problem:
    return Problem(
        f"mode '{verdict.kind}' ({verdict.asked}) is not in effect: {verdict.evidence}",
        fix="ask for what this engine can do (teapot modes), or serve all the same with --allow-ineffective",
    )


async def first_of(*tasks: asyncio.Task[object]) -> asyncio.Task[object]:
    """The first of the tasks to end; the others run on."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return next(task for task in tasks if task in done)
