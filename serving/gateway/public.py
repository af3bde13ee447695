"""The public address in one process: everything that serves requests there, from the sockets on.

Owns: putting the edge and the proxy together, and ending them. Knows nothing about the admin address, the
engines' life, or how many such processes there are.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
from collections.abc import Iterable

from aiohttp import web

from serving.gateway import access_log
from serving.gateway.app import PublicApp
from serving.gateway.keys_file import WatchedKeys, read_keys
from serving.gateway.limits import GatewayLimits
from serving.gateway.listener import Listener
from serving.gateway.observer import Observer
from serving.gateway.proxy import Proxy
from serving.gateway.reception import Reception
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.settings import EdgeSettings
from serving.gateway.state import GatewayState
from serving.gateway.tls import tls_context
from serving.gateway.tracing import Tracer, make_tracer

# Requests have been drained or told to end before the listeners close; this is for what is then still stuck.
CLOSE_S = 1.0
_DRAIN_POLL_S = 0.02


class Public:
    """Serves one gateway's public address. Made inside a running event loop.

    Raises: UsageError where a file of keys or of TLS, or the tracing asked for, cannot be used.
    """

    def __init__(
        self,
        state: GatewayState,
        metrics: Observer,
        limits: GatewayLimits,
        settings: EdgeSettings,
        routing: RoutingSettings | None = None,
    ) -> None:
        self._state = state
        self._limits = limits
        self._tls: ssl.SSLContext | None = tls_context(settings.tls) if settings.tls else None
        keys = WatchedKeys(settings.keys_file, time.monotonic).current if settings.keys_file else None
        reception = Reception(keys, time.monotonic, share=1 / settings.workers)
        self._tracer: Tracer | None = make_tracer(settings.tracing, state.name) if settings.tracing else None
        if settings.access_log:
            access_log.switch_on(sys.stderr)
        self._proxy = Proxy(state, limits, routing, metrics.gap_bounds_ns)
        self._proxy.shadow.observe = metrics.observe
        self._app = PublicApp(state, self._proxy, metrics, limits, settings, reception, self._tracer)
        self._listener = Listener(web.ServerRunner(self._app.server(), shutdown_timeout=CLOSE_S))

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return self._app.waiting

    async def serve(self, sockets: Iterable[socket.socket]) -> None:
        """Take connections from these sockets from now on; they are closed by `stop`."""
        await self._listener.start(sockets, self._tls)

    async def finish(self, timeout_s: float) -> int:
        """Let requests in flight finish; end with an error those that have not after `timeout_s`.

        Returns how many those were. The state must refuse new ones already.
        """
        if await self._idle_within(timeout_s):
            return 0
        left = self._state.in_flight
        self._app.end_all()
        self._proxy.end_all()
        await self._idle_within(self._limits.farewell_s)
        return left

    async def stop(self) -> None:
        """Close the address and all connections."""
        await self._listener.stop()
        await self._proxy.close()
        if self._tracer is not None:
            # It sends what is left, and waits for the answer.
            await asyncio.to_thread(self._tracer.close)

    async def _idle_within(self, timeout_s: float) -> bool:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self._state.in_flight > 0:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_DRAIN_POLL_S)
        return True


def check_usable(settings: EdgeSettings, name: str) -> None:
    """Find out whether what the settings name can be used, where another process is to use it.

    Raises: UsageError.
    """
    if settings.tls:
        tls_context(settings.tls)
    if settings.keys_file:
        read_keys(settings.keys_file)
    if settings.tracing:
        make_tracer(settings.tracing, name).close()
