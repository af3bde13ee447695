"""All revisions whose engines are this process's own: brought up beside each other, or in each other's place.

Owns: which there are, one change at a time, and what is left to serve when one fails. Knows nothing about
why a revision comes or goes: it is asked, over the admin address or at the start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from deploy.engine_group import Around, EngineGroup
from deploy.prepared import Prepared
from serving.engine.process import Stopped
from serving.errors import Failed, TeapotError
from serving.gateway.revisions import Asked
from serving.gateway.state import OwnRevision
from serving.modes.disaggregated import Disaggregated

logger = logging.getLogger("teapot.revisions")

STOP_MARGIN_S = 15.0
"""Nothing is in flight after the drain. Idle engines took up to 10 s to end on busy cores."""
_CHANGING = ("planned", "starting", "proving", "leaving")


class EngineGroups:
    """The revisions of one running deployment. Made before its loop runs; has a keeper's manner."""

    def __init__(
        self, around: Around, first: EngineGroup, plan: Callable[[Asked], Prepared], token: str
    ) -> None:
        self.token = token
        self.groups: dict[str, EngineGroup] = {first.revision: first}
        """Those that were planned and may have engines, by revision."""
        self._around = around
        self._plan = plan
        self._drain_s = first.prepared.deployment.gateway.drain_timeout
        self._changes: dict[str, asyncio.Task[None]] = {}
        self._keeping: dict[str, asyncio.Task[None]] = {}
        self._left: dict[str, Prepared] = {}
        """What was planned for revisions that had to make room, to bring them back as they were."""
        self._over: asyncio.Future[Failed] | None = None

    def keep(self, group: EngineGroup) -> None:
        """Keep a revision's engines up from now on."""
        self._keeping[group.revision] = asyncio.create_task(self._keep(group))

    async def ended(self) -> Failed:
        """Return when and why no revision is left that could serve."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._over)

    def begin(self, asked: Asked) -> None:
        """Bring up a revision beside those that run, or in the place of one. Raises: ValueError."""
        state = self._around.gateway.state
        if state.phase != "ready":
            raise ValueError(f"the deployment is {state.phase}")
        if asked.name in state.own or asked.name in {row.name for row in state.backends.revisions()}:
            raise ValueError(f"there is a revision {asked.name!r} already")
        if changing := [name for name, own in state.own.items() if own.state in _CHANGING]:
            raise ValueError(f"revision {changing[0]!r} is {state.own[changing[0]].state}; one at a time")
        if asked.replaces is not None and asked.replaces not in self.groups:
            raise ValueError(f"there are no engines of {asked.replaces!r} to take the place of")
        told = OwnRevision("planned", asked.file)
        state.tell(asked.name, told)
        self._change(asked.name, self._bring(asked, told))

    def end(self, name: str, *, cut: bool) -> None:
        """Let a revision's requests finish, or cut them, and end its engines. Raises: ValueError."""
        state = self._around.gateway.state
        own = state.own.get(name)
        if own is None:
            raise ValueError(f"there are no engines of a revision {name!r}; there are {', '.join(state.own)}")
        if own.state == "leaving":
            return
        shares = {row.name: row.weight for row in state.backends.revisions() if row.weight > 0}
        if shares.pop(name, 0) > 0:
            if not shares:
                raise ValueError(f"{name!r} is the only revision with a share; give another one first")
            state.set_weights(shares)
        own.state = "leaving"
        state.tell(name, own)
        self._change(name, self._end(name, cut=cut, before=self._changes.get(name)))

    async def down(self, within_s: float) -> dict[str, Stopped]:
        """End all engines; how each that ran went. Raises: Failed if something cannot be ended."""
        tasks = [*self._keeping.values(), *self._changes.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        groups = list(self.groups.values())
        for group in groups:
            group.leave()
        ended = await asyncio.gather(*(group.down(within_s) for group in groups), return_exceptions=True)
        errors = [result for result in ended if isinstance(result, BaseException)]
        if errors:
            raise errors[0]
        return {
            f"{group.revision}/{name}": how
            for group, result in zip(groups, ended, strict=True)
            if isinstance(result, dict)
            for name, how in result.items()
        }

    def _change(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._changes[name] = asyncio.create_task(self._bordered(name, work))
        task.add_done_callback(lambda done: self._changes.get(name) is done and self._changes.pop(name))

    async def _bordered(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Whatever a change comes to, serving goes on and `GET /status` tells."""
        try:
            await work
        except Exception as error:
            if not isinstance(error, TeapotError):
                logger.exception("revision %s: its change failed", name)
            self._failed(name, str(error) or type(error).__name__)

    def _failed(self, name: str, problem: str) -> None:
        self._around.console.say(f"revision {name} failed: {problem}")
        state = self._around.gateway.state
        own = state.own.get(name) or OwnRevision()
        own.state, own.problem = "failed", problem
        state.tell(name, own)
        self._see_whether_over(Failed(problem))

    async def _bring(self, asked: Asked, told: OwnRevision) -> None:
        gateway = self._around.gateway
        # Where nobody set weights, revisions share equally: a new one would get its part at once. Nobody is
        # given anything here, so one that has failed keeps its share as well.
        backends = gateway.state.backends
        backends.set_weights({row.name: row.weight for row in backends.revisions()})
        try:
            if asked.replaces is not None:
                await self._clear(asked.replaces, asked.again_in_s)
            await self._start(asked, told)
        except TeapotError:
            if asked.replaces is not None and asked.replaces not in self.groups:
                await self._back(asked.replaces, asked)
            raise
        finally:
            gateway.state.again_in_s = None

    async def _start(self, asked: Asked, told: OwnRevision) -> None:
        state = self._around.gateway.state
        prepared = self._left.pop(asked.name, None)
        if prepared is None or prepared.file != asked.file:
            prepared = await asyncio.to_thread(self._plan, asked)
        self._divide(prepared)
        group = EngineGroup(asked.name, prepared, self._around, told, named=True)
        self.groups[asked.name] = group
        group.add()
        try:
            await group.up()
        except BaseException:
            # Cancelled as well: who asked for its end waits for this.
            group.leave()
            await group.down(0.0)
            group.remove()
            del self.groups[asked.name]
            raise
        if asked.replaces is not None:
            state.set_weights({asked.name: 1.0})
        self.keep(group)

    def _divide(self, prepared: Prepared) -> None:
        """Let the gateway divide requests as a pair of engines needs it. Raises: Failed."""
        pair = prepared.deployment.mode(Disaggregated)
        if pair is None:
            return
        gateway = self._around.gateway
        legs = pair.connector.connector.legs
        settings = gateway.routing.legs if gateway.routing else None
        now = gateway.state.legs or settings
        if any(row.prefills for row in gateway.state.backends.revisions()) and now != legs:
            raise Failed(
                "its pair hands the KV cache over in another way than the one that serves",
                fix="use the same connector, or restart `teapot serve` with the new file",
            )
        gateway.state.legs = legs

    async def _clear(self, name: str, again_in_s: int | None) -> None:
        """End the engines whose memory the new ones need; clients are told when to come back."""
        self._left[name] = self.groups[name].prepared
        self._around.gateway.state.again_in_s = again_in_s
        await self._take_away(name, cut=False)

    async def _back(self, name: str, asked: Asked) -> None:
        """Bring the engines back that ended for those that could not start."""
        file = self._left[name].file
        self._around.console.say(f"revision {asked.name} did not come up; starting {name} again")
        told = OwnRevision("planned", file)
        self._around.gateway.state.tell(name, told)
        try:
            await self._start(Asked(name, file, replaces=asked.name), told)
        except TeapotError as error:
            self._failed(name, str(error))

    async def _end(self, name: str, *, cut: bool, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        await self._take_away(name, cut=cut)
        for other, own in self._around.gateway.state.own.items():
            if own.state == "failed":
                self._see_whether_over(Failed(f"{name} was ended, and {other} has failed: {own.problem}"))

    async def _take_away(self, name: str, *, cut: bool) -> None:
        state = self._around.gateway.state
        keeping = self._keeping.pop(name, None)
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        group = self.groups.get(name)
        if group is not None:
            group.told.state = "leaving"
            state.tell(name, group.told)
            group.leave()
            left = 0 if cut else await group.finished(self._drain_s)
            if left:
                self._around.console.say(f"{left} requests at revision {name} did not finish in time")
            await group.down(0.0 if cut or left else STOP_MARGIN_S)
            group.remove()
            del self.groups[name]
        state.tell(name, None)
        self._around.console.say(f"revision {name} has left; nothing of its engines is left")

    async def _keep(self, group: EngineGroup) -> None:
        failure = await group.keep()
        if len(self.groups) > 1:
            self._around.console.say(f"revision {group.revision}: {failure}")
        group.told.state, group.told.problem = "failed", str(failure)
        self._around.gateway.state.tell(group.revision, group.told)
        self._see_whether_over(failure)

    def _see_whether_over(self, failure: Failed) -> None:
        """End everything if no revision serves and none is about to."""
        own = self._around.gateway.state.own.values()
        if any(row.state not in ("failed", "leaving") for row in own):
            return
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        if not self._over.done():
            self._over.set_result(failure)
