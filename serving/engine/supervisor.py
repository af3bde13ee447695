"""All engines of a deployment: up together, kept up each for itself, down together.

Owns: the order of starts, who may serve with whom, when none is left. Knows nothing about the gateway: it is
told of changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from serving.engine.process import Stopped
from serving.engine.states import EngineState
from serving.engine.supervised import EnginePlan, SupervisedEngine, Surroundings
from serving.errors import Failed, Problem
from serving.modes.mode import Role

ENGINE_OVERHEAD_BYTES = 3 * 1024**3
"""What the processes of one starting engine hold beside weights and KV cache."""
LOADING_COPIES = 2
"""Weights are for a moment there twice: as they come from the file and as the engine keeps them."""


def start_together(engines: int, *, weight_bytes: int | None, kv_bytes: int, available_bytes: int) -> bool:
    """Whether memory lets all engines load at the same time; not where the model's size is unknown."""
    if weight_bytes is None:
        return engines == 1
    peak = LOADING_COPIES * weight_bytes + kv_bytes + ENGINE_OVERHEAD_BYTES
    return engines * peak <= available_bytes


def can_serve(roles: Iterable[Role]) -> bool:
    """Whether engines of these roles are enough to answer: a decoding engine can prefill for itself."""
    return not {"any", "decode"}.isdisjoint(roles)


class Supervisor:
    """The engines of one deployment: `up` once, then `keep`, then `leave` and `down` once, come what may."""

    def __init__(self, plans: Sequence[EnginePlan], around: Surroundings, *, together: bool) -> None:
        self.engines = tuple(SupervisedEngine(plan, around) for plan in plans)
        self._around = around
        self._together = together

    def serving(self) -> tuple[SupervisedEngine, ...]:
        """The engines that may be given requests now."""
        ready = tuple(engine for engine in self.engines if engine.state is EngineState.READY)
        return ready if can_serve(engine.plan.role for engine in ready) else ()

    async def up(self) -> None:
        """Start and prove all engines. Raises: Failed with the first that cannot; `down` ends the others."""
        if not self._together:
            for engine in self.engines:
                await engine.start()
            return
        starting = [asyncio.create_task(engine.start()) for engine in self.engines]
        try:
            await asyncio.gather(*starting)
        finally:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)

    async def keep(self) -> Failed:
        """Keep the engines up, each for itself, until those left cannot serve; returns why."""
        keeping = {asyncio.create_task(engine.keep()): engine for engine in self.engines}
        lost: list[Problem] = []
        try:
            while can_serve(engine.plan.role for task, engine in keeping.items() if not task.done()):
                running = [task for task in keeping if not task.done()]
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    lost += task.result().problems
                    if len(keeping) > 1:
                        self._around.say(str(task.result()))
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
        return Failed(_none_left(lost), where=lost[-1].where, fix=lost[-1].fix)

    def leave(self) -> None:
        """Take all engines out of service; they still finish what they have."""
        for engine in self.engines:
            engine.leave()

    async def down(self, within_s: float) -> dict[str, Stopped]:
        """End all engines at once; how each that ran went. Raises: Failed if something cannot be ended."""
        ended = await asyncio.gather(
            *(engine.stop(within_s) for engine in self.engines), return_exceptions=True
        )
        errors = [result for result in ended if isinstance(result, BaseException)]
        if errors:
            raise errors[0]
        return {
            engine.name: how
            for engine, how in zip(self.engines, ended, strict=True)
            if isinstance(how, Stopped) and how.code is not None and engine.state is EngineState.STOPPED
        }


def _none_left(lost: Sequence[Problem]) -> str:
    return f"no engine is left: {lost[-1].what}" if len(lost) > 1 else lost[-1].what
