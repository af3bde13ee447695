"""One engine, started again when it fails.

Owns: walking one engine through the table of states: start, proof, watch, what is left of a crash, pause.
Knows nothing about other engines, routing or modes: proving comes in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import aiohttp

from serving.engine.causes import cause_of
from serving.engine.guardian import Guardian
from serving.engine.leftovers import Process
from serving.engine.logs import end_of_log, size_of_log
from serving.engine.process import EngineProcess, EngineSpec, Stopped
from serving.engine.readiness import start_engine
from serving.engine.stages import StartStage
from serving.engine.states import EngineState, Event, GiveUp, after_crash, classify, following
from serving.engine.watching import Clock, until_stuck
from serving.errors import Failed
from serving.modes.mode import Role


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """An engine to be run, and how many requests it is sent at a moment."""

    spec: EngineSpec
    role: Role = "any"
    in_flight: Callable[[], int] = lambda: 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an engine's life needs of the rest, and whom it tells."""

    start_timeout_s: float
    stuck_after_s: float
    prove: Callable[[SupervisedEngine, Sequence[str]], Awaitable[None]]
    """Judges an engine that generates, with the log of its start. Raises: Failed to refuse it."""
    changed: Callable[[SupervisedEngine], None] = lambda engine: None
    stage: Callable[[str, StartStage, float], None] = lambda name, stage, at_s: None
    say: Callable[[str], None] = lambda text: None
    guardian: Guardian | None = None
    clock: Clock = field(default_factory=Clock)


class SupervisedEngine:
    """One engine over all its starts; `state` is where it is now."""

    def __init__(self, plan: EnginePlan, around: Surroundings) -> None:
        self.plan = plan
        self.state = EngineState.PLANNED
        self._around = around
        self._process = EngineProcess(plan.spec, guardian=around.guardian)
        self._log_from = 0
        self._crashes_s: list[float] = []
        self._was_ready = False

    @property
    def name(self) -> str:
        """The engine's name in the deployment."""
        return self.plan.spec.name

    @property
    def url(self) -> str:
        """Where it answers while it is up."""
        return self._process.url

    @property
    def pid(self) -> int | None:
        """The API server's pid; None before the first start."""
        return self._process.pid

    def processes(self) -> Sequence[Process]:
        """Its living processes."""
        return self._process.processes()

    async def start(self) -> None:
        """Start it, see a token and prove it. Raises: Failed with the cause; then nothing of it is left."""
        spec = self.plan.spec
        self._enter(Event.START)
        self._process = EngineProcess(spec, guardian=self._around.guardian)
        self._log_from = size_of_log(spec.log)
        on_stage = partial(self._around.stage, self.name)
        log = await start_engine(self._process, self._around.start_timeout_s, on_stage)
        self._enter(Event.GENERATED)
        try:
            await self._prove(log.lines)
        except BaseException:
            self._process.kill()
            await self._process.stop(within_s=0.0)
            raise
        self._log_from = size_of_log(spec.log)
        self._was_ready = True
        self._enter(Event.PROVEN)

    async def keep(self) -> Failed:
        """Watch a ready engine and start it again whenever it fails; returns, once it is given up, why."""
        failure = await self._until_it_fails()
        while True:
            given_up = await self._clear(failure)
            if given_up is not None:
                return given_up
            try:
                await self.start()
            except Failed as error:
                failure = error
            else:
                self._around.say(f"engine {self.name} is ready again")
                failure = await self._until_it_fails()

    def leave(self) -> None:
        """Take no more requests: it is going to be stopped."""
        self._enter(Event.STOP)

    async def stop(self, within_s: float) -> Stopped:
        """End it, after `leave`. Safe to call again. Raises: Failed if something of it cannot be ended."""
        stopped = await self._process.stop(within_s)
        if self.state is not EngineState.STOPPED:
            self._enter(Event.GONE)
        return stopped

    async def _prove(self, log: Sequence[str]) -> None:
        async def proving() -> Failed | None:
            try:
                await self._around.prove(self, log)
            except (aiohttp.ClientError, TimeoutError) as error:
                return self._failed(
                    f"does not answer the probe of its modes: {type(error).__name__}: {error}"
                )
            return None

        failure = await _first(proving(), self._until_it_dies())
        if failure is not None:
            raise failure

    async def _until_it_fails(self) -> Failed:
        failure = await _first(self._until_it_dies(), self._until_it_is_stuck())
        assert failure is not None
        return failure

    async def _until_it_dies(self) -> Failed:
        code = await self._process.wait()
        cause = cause_of(end_of_log(self.plan.spec.log, self._log_from)) if code > 0 else None
        how = f"ended while serving ({exit_words(code)})" + (f": {cause.cause}" if cause else "")
        return self._failed(how, cause.cure if cause else "see the log's last lines")

    async def _until_it_is_stuck(self) -> Failed:
        around = self._around
        found = await until_stuck(self.url, self.plan.in_flight, around.stuck_after_s, around.clock)
        return self._failed(f"is stuck: {found}")

    async def _clear(self, failure: Failed) -> Failed | None:
        """Remove what is left, then wait for the next start; or give up and say why."""
        self._enter(Event.CRASHED)
        self._crashes_s.append(self._around.clock.now())
        code = self._process.exit_code
        # A signal says nothing about the log's old complaints, and neither does an engine that lives.
        cause = cause_of(end_of_log(self.plan.spec.log, self._log_from)) if code and code > 0 else None
        self._process.kill()
        await self._process.stop(within_s=0.0)
        decision = after_crash(classify(code, cause), crashes_s=self._crashes_s, was_ready=self._was_ready)
        if isinstance(decision, GiveUp):
            self._enter(Event.GIVEN_UP)
            problem = failure.problems[0]
            what = f"{problem.what}; it is given up: {decision.reason}"
            return Failed(what, where=problem.where, fix=problem.fix)
        self._around.say(f"{failure}; starting it again in {decision.pause_s:g} s")
        self._enter(Event.CLEARED)
        await self._around.clock.sleep(decision.pause_s)
        return None

    def _failed(self, how: str, fix: str = "see the log's last lines") -> Failed:
        return Failed(f"engine {self.name} {how}", where=str(self.plan.spec.log), fix=fix)

    def _enter(self, event: Event) -> None:
        self.state = following(self.state, event)
        self._around.changed(self)


def exit_words(code: int) -> str:
    """An exit code for people; negative ones are signals."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


async def _first(*works: Coroutine[Any, Any, Failed | None]) -> Failed | None:
    """The result of the first to end; the others are cancelled."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
