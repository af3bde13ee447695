"""The HTTP server at the public address, down to requests that are not HTTP at all.

Owns: the settings of aiohttp's server and its answer to broken requests. Knows nothing about routes.
aiohttp's low-level server is used because its router decodes paths before it compares them, and because its
own error pages are plain text that names aiohttp and Python.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from aiohttp import web

from serving.gateway.limits import GatewayLimits

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Refuse = Callable[[int], web.Response]
T = TypeVar("T")


class _NoTaskEach:
    """The loop as a connection's task sees it: what it starts for a request runs in that task itself.

    aiohttp gives each request a task of its own, which begins in the next turn of the loop and costs more
    than routing the request. From Python 3.12 on it begins at once; there this is not used. A context
    variable that a request sets is seen by the next one of its connection.
    """

    __slots__ = ("_loop", "call_at", "create_future", "time")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.call_at, self.create_future, self.time = loop.call_at, loop.create_future, loop.time

    def create_task(self, coroutine: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The coroutine, for whoever awaits what this returns."""
        return coroutine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class _EdgeProtocol(web.RequestHandler):
    """One client connection."""

    __slots__ = ("_refuse",)

    def __init__(self, server: web.Server, refuse: Refuse, limits: GatewayLimits) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.idle_client_s,
            access_log=None,  # type: ignore[arg-type]  # None is how it is switched off
            auto_decompress=False,
            # A refused client may still be sending: that is read and dropped, or it would never see why.
            lingering_time=limits.farewell_s,
        )
        self._refuse = refuse

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        super().connection_made(transport)
        if sys.version_info < (3, 12):
            # The connection's own task was started by the line above.
            self._loop = cast(asyncio.AbstractEventLoop, _NoTaskEach(self._loop))

    async def start(self) -> None:
        """Serve one request after the other, until the connection ends."""
        try:
            await super().start()
        except asyncio.CancelledError as gone:
            # The task keeps it and, by its traceback, the request's frames, of which some know the task: a
            # ring, with all of the request in it, that only the garbage collector would open.
            raise gone.with_traceback(None) from None

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Read on after a pause. aiohttp asks for it with every body, and would parse to find nothing."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that cannot be parsed; our own faults are answered by the handler."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun and cannot be replaced")
        response = self._refuse(status)
        response.force_close()
        return response


class EdgeServer(web.Server):
    """Calls `handler` for each request, and cancels it the moment its client is gone."""

    def __init__(self, handler: Handler, refuse: Refuse, limits: GatewayLimits) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._refuse = refuse
        self._limits = limits

    def __call__(self) -> web.RequestHandler:
        """Make the protocol of a new connection."""
        return _EdgeProtocol(self, self._refuse, self._limits)
