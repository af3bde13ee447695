"""The gateway as a whole: its two addresses and its life from start to stop.

Owns: listening, and the order in which things begin and end. Knows nothing about what is served or by whom.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence

from aiohttp import web

from serving.errors import Failed
from serving.gateway.admin import admin_app, require_loopback
from serving.gateway.app import PublicApp
from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.proxy import Proxy
from serving.gateway.state import GatewayState
from serving.modes.mode import Verdict

_BACKLOG = 1024
# Requests have been drained or told to end before the listeners close; this is for what is then still stuck.
_CLOSE_S = 1.0
_DRAIN_POLL_S = 0.02


class Gateway:
    """One deployment's address. `start` it before the engines, so that a taken port is known at once."""

    def __init__(self, name: str, limits: GatewayLimits | None = None) -> None:
        self.state = GatewayState(name)
        self.limits = limits or GatewayLimits()
        self.metrics = GatewayMetrics(self.state)
        self.public_url = ""
        """The address applications use; empty before `start`."""
        self.admin_url = ""
        self._proxy: Proxy | None = None
        self._app: PublicApp | None = None
        self._runners: list[web.BaseRunner] = []

    async def start(self, public_host: str, port: int, admin_host: str, admin_port: int) -> None:
        """Listen on both addresses; requests get 503 until `open`. Port 0 takes any free one.

        Raises: Failed if an address cannot be had, with nothing left open; UsageError if the admin address
        is not a loopback one.
        """
        require_loopback(admin_host)
        proxy = self._proxy = Proxy(self.state, self.limits)
        public = self._app = PublicApp(self.state, proxy, self.metrics, self.limits)
        admin = admin_app(self.state, self.metrics)
        try:
            runner: web.BaseRunner = web.ServerRunner(public.server(), shutdown_timeout=_CLOSE_S)
            self.public_url = await self._listen(runner, public_host, port, "port")
            runner = web.AppRunner(admin, access_log=None, shutdown_timeout=_CLOSE_S)
            self.admin_url = await self._listen(runner, admin_host, admin_port, "admin_port")
        except Failed:
            await self.stop()
            raise

    def add(self, backend: Backend) -> None:
        """Put an engine behind the gateway; it gets requests once its state is `ready`."""
        self.state.backends.add(backend)

    def open(self, verdicts: Sequence[Verdict]) -> None:
        """Take requests from now on: every engine has generated a token and every mode was judged."""
        self.state.verdicts = tuple(verdicts)
        self.state.phase = "ready"

    async def drain(self, timeout_s: float) -> int:
        """Take no more requests and let those in flight finish.

        Those that have not after `timeout_s` are ended with an error; returns how many those were.
        """
        self.state.phase = "draining"
        if await self._idle_within(timeout_s):
            return 0
        left = self.state.in_flight
        if self._app is not None:
            self._app.end_all()
        if self._proxy is not None:
            self._proxy.end_all()
        await self._idle_within(self.limits.farewell_s)
        return left

    async def stop(self) -> None:
        """Close both addresses and all connections; requests still in flight end with an error.

        Give them time with `drain` before.
        """
        if self.state.in_flight > 0:
            await self.drain(0)
        self.state.phase = "stopped"
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        if self._proxy is not None:
            await self._proxy.close()
            self._proxy = None

    async def _idle_within(self, timeout_s: float) -> bool:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self.state.in_flight > 0:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_DRAIN_POLL_S)
        return True

    async def _listen(self, runner: web.BaseRunner, host: str, port: int, key: str) -> str:
        await runner.setup()
        self._runners.append(runner)
        try:
            await web.TCPSite(runner, host, port, backlog=_BACKLOG).start()
        except OSError as error:
            raise cannot_listen(error, host, port, key) from error
        bound = runner.addresses[0][1]
        return f"http://{f'[{host}]' if ':' in host else host}:{bound}"


def cannot_listen(error: OSError, host: str, port: int, key: str) -> Failed:
    """Say why an address cannot be listened on, and which key of the deployment file decides it."""
    where = f"gateway.{key}"
    host_key = "gateway.admin_host" if key == "admin_port" else "gateway.host"
    if error.errno == errno.EADDRINUSE:
        return Failed(
            f"port {port} on {host} is in use by another process",
            where=where,
            fix=f"stop that process (`ss -ltnp 'sport = :{port}'` names it) or set {where} to a free port",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Failed(
            f"this user may not listen on port {port}", where=where, fix=f"set {where} to 1024 or more"
        )
    reason = error.strerror or str(error)
    return Failed(f"cannot listen on {host}:{port}: {reason}", where=host_key, fix=f"set {host_key}")
