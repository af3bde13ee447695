"""The HTTP server at the public address, down to requests that are not HTTP at all.

Owns: the settings of aiohttp's server and its answer to broken requests. Knows nothing about routes.
aiohttp's low-level server is used because its router decodes paths before it compares them, and because its
own error pages are plain text that names aiohttp and Python.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from serving.gateway.limits import GatewayLimits

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Refuse = Callable[[int], web.Response]


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
