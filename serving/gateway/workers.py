"""Several processes that serve one port: started, kept equal to the parent's state, started again, ended.

Owns: the worker processes and their channels. Knows nothing about what a worker does with a request. The
parent holds the listening sockets too, so connections that wait at a worker that died are its successor's.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from serving.errors import Failed
from serving.gateway.channel import Channel
from serving.gateway.limits import GatewayLimits
from serving.gateway.messages import Finish, Finished, Orders, Serving, Stop
from serving.gateway.mirror import Report, Snapshot, add_up, take
from serving.gateway.outcome import Outcome
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.settings import EdgeSettings
from serving.gateway.sockets import close
from serving.gateway.state import GatewayState

logger = logging.getLogger("teapot.gateway.workers")

START_S = 60.0
LOOK_EVERY_S = 0.01
RESTART_AFTER_S = 0.5
"""A worker that ends at once must not keep a core busy with starting."""
_STOP_S = 5.0
_IDLE = Report(0, 0, (), ())


@dataclass(slots=True)
class _Worker:
    listeners: Sequence[socket.socket]
    process: asyncio.subprocess.Process | None = None
    channel: Channel | None = None
    report: Report = _IDLE
    sent: Snapshot | None = None
    serving: asyncio.Event = field(default_factory=asyncio.Event)
    finished: asyncio.Future[int] | None = None
    keeping: asyncio.Task[None] | None = None


class Workers:
    """Serves one gateway's public address with several processes. Has the manner of `Public`."""

    def __init__(
        self,
        state: GatewayState,
        observe: Callable[[Outcome], None],
        gap_bounds_ns: tuple[int, ...],
        limits: GatewayLimits,
        settings: EdgeSettings,
        routing: RoutingSettings | None,
    ) -> None:
        self._state = state
        self._observe = observe
        self._gap_bounds_ns = gap_bounds_ns
        self._limits = limits
        self._settings = shared_out(settings)
        self._routing = routing
        self._workers: list[_Worker] = []
        self._pushing: asyncio.Task[None] | None = None
        self._started = self._stopping = False
        self.waiting = 0
        """How many requests wait for their turn."""

    async def serve(self, sets: Sequence[Sequence[socket.socket]]) -> None:
        """Start a process for each set of sockets, and return when all serve. Raises: Failed."""
        self._workers = [_Worker(listeners) for listeners in sets]
        for worker in self._workers:
            worker.keeping = asyncio.create_task(self._keep(worker))
        self._pushing = asyncio.create_task(self._keep_pushing())
        everyone = asyncio.gather(*(worker.serving.wait() for worker in self._workers))
        ends = [worker.keeping for worker in self._workers if worker.keeping]
        waits: list[asyncio.Future[Any]] = [everyone, *ends]
        await asyncio.wait(waits, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        self._started = everyone.done()
        everyone.cancel()
        if not self._started:
            raise Failed(
                "the gateway's worker processes did not all start",
                where="gateway.workers",
                fix="see what they wrote above, or set it to 1",
            )

    async def finish(self, timeout_s: float) -> int:
        """Let requests in flight finish in every worker; returns how many had to be ended with an error."""
        self._push()
        futures = []
        for worker in self._workers:
            if worker.channel is not None and worker.serving.is_set():
                worker.finished = asyncio.get_running_loop().create_future()
                futures.append(worker.finished)
                worker.channel.send(Finish(timeout_s))
        if not futures:
            return 0
        patience_s = timeout_s + self._limits.farewell_s + _STOP_S
        done, _ = await asyncio.wait(futures, timeout=patience_s)
        return sum(future.result() for future in done)

    async def stop(self) -> None:
        """End all workers, and close the sockets."""
        self._stopping = True
        self._push()
        if self._pushing is not None:
            self._pushing.cancel()
        for worker in self._workers:
            if worker.channel is not None:
                worker.channel.send(Stop())
        keeping = [worker.keeping for worker in self._workers if worker.keeping is not None]
        if keeping:
            _, stuck = await asyncio.wait(keeping, timeout=_STOP_S)
            for task in stuck:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
        for worker in self._workers:
            close(worker.listeners)
        self._workers.clear()

    async def _keep(self, worker: _Worker) -> None:
        """Run one worker, and another in its place whenever it ends by itself."""
        while True:
            try:
                await self._run(worker)
            except EOFError:
                pass
            finally:
                code = await self._reap(worker)
            if self._stopping or not self._started:
                return
            logger.error("a worker process of the gateway ended (%s); starting another", code)
            await asyncio.sleep(RESTART_AFTER_S)

    async def _run(self, worker: _Worker) -> None:
        ours, theirs = socket.socketpair()
        numbers = tuple(one.fileno() for one in worker.listeners)
        with theirs:
            worker.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "serving.gateway.worker", str(theirs.fileno()),
                pass_fds=(theirs.fileno(), *numbers), stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent, which drains first.
            )  # fmt: skip
        worker.channel = await Channel.over(ours)
        worker.sent = take(self._state)
        orders = Orders(
            self._state.name, self._limits, self._settings, self._routing, self._gap_bounds_ns, numbers,
            worker.sent,
        )  # fmt: skip
        worker.channel.send(orders)
        while True:
            self._hear(worker, await worker.channel.receive())

    async def _reap(self, worker: _Worker) -> int | None:
        """Forget what a worker did that is gone; returns its exit code."""
        worker.serving.clear()
        worker.report = _IDLE
        self.waiting = add_up([w.report for w in self._workers], self._state)
        if worker.finished is not None and not worker.finished.done():
            worker.finished.set_result(0)
        if worker.channel is not None:
            await worker.channel.close()
            worker.channel = None
        process, worker.process = worker.process, None
        if process is None:
            return None
        try:
            async with asyncio.timeout(_STOP_S):
                return await process.wait()
        except (TimeoutError, asyncio.CancelledError):
            process.kill()
            return await process.wait()

    def _hear(self, worker: _Worker, message: object) -> None:
        if isinstance(message, Report):
            worker.report = replace(message, ended=())
            self.waiting = add_up([w.report for w in self._workers], self._state)
            for outcome in message.ended:
                self._observe(outcome)
        elif isinstance(message, Serving):
            worker.serving.set()
        elif isinstance(message, Finished) and worker.finished is not None and not worker.finished.done():
            worker.finished.set_result(message.left)

    def _push(self) -> None:
        """Tell every worker what is new."""
        now = take(self._state)
        for worker in self._workers:
            if worker.channel is not None and worker.sent != now:
                worker.channel.send(now)
                worker.sent = now

    async def _keep_pushing(self) -> None:
        # Looked at instead of told: whoever changes the state need not know that there are workers.
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._push()


def shared_out(settings: EdgeSettings) -> EdgeSettings:
    """The settings of one worker: its part of what all of them together may take."""
    count = settings.workers
    places = settings.max_in_flight
    return replace(
        settings,
        max_in_flight=None if places is None else math.ceil(places / count),
        queue=math.ceil(settings.queue / count),
    )
