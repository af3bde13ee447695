"""The gateway as a whole: its two addresses and its life from start to stop.

Owns: the order in which things begin and end. Knows nothing about what is served or by whom.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from aiohttp import web

from serving.errors import TeapotError
from serving.gateway.admin import admin_app, require_loopback
from serving.gateway.backends import Backend
from serving.gateway.elsewhere import accesses, trust
from serving.gateway.limits import GatewayLimits
from serving.gateway.listener import Listener
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.objectives import Objectives
from serving.gateway.probing import Probing
from serving.gateway.public import CLOSE_S, Public, check_usable
from serving.gateway.revisions import Keeper
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.settings import EdgeSettings
from serving.gateway.sockets import bind, url_of
from serving.gateway.state import GatewayState
from serving.gateway.upstream.pool import Pool
from serving.gateway.workers import Workers
from serving.modes.mode import Verdict


class Gateway:
    """One deployment's address. `start` it before the engines, so that a taken port is known at once."""

    def __init__(
        self,
        name: str,
        limits: GatewayLimits | None = None,
        settings: EdgeSettings | None = None,
        routing: RoutingSettings | None = None,
        objectives: Objectives | None = None,
    ) -> None:
        self.state = GatewayState(name)
        self.limits = limits or GatewayLimits()
        self.settings = settings or EdgeSettings()
        self.routing = routing
        self.metrics = GatewayMetrics(self.state, objectives)
        self.public_url = ""
        """The address applications use; empty before `start`."""
        self.admin_url = ""
        self.keeper: Keeper | None = None
        """Who starts and ends engines; set it before `start`."""
        self._public: Public | Workers | None = None
        self._admin: Listener | None = None
        self._probing: Probing | None = None

    async def start(self, public_host: str, port: int, admin_host: str, admin_port: int) -> None:
        """Listen on both addresses; requests get 503 until `open`. Port 0 takes any free one.

        Raises: Failed if an address cannot be had, with nothing left open; UsageError if the admin address
        is not a loopback one, or a file of keys or of TLS cannot be used.
        """
        require_loopback(admin_host)
        try:
            self._start_probing()
            await self._start_public(public_host, port)
            await self._start_admin(admin_host, admin_port)
        except TeapotError:
            await self.stop()
            raise

    def _start_probing(self) -> None:
        there = self.routing.elsewhere if self.routing else {}
        if not there:
            return
        known = accesses(there, os.environ)
        backends = [Backend(url, revision=name) for name, one in there.items() for url in one.urls]
        for backend in backends:
            self.add(backend)
        pool = Pool(
            connect_s=self.limits.connect_s, idle_s=self.limits.idle_upstream_s, trust=trust(there, known)
        )
        self._probing = Probing(backends, known, pool)
        self._probing.start()

    async def known(self) -> None:
        """Return when every backend elsewhere was asked once whether it answers."""
        if self._probing is not None:
            await self._probing.known()

    async def _start_public(self, host: str, port: int) -> None:
        state, metrics, limits, settings = self.state, self.metrics, self.limits, self.settings
        if settings.workers == 1:
            public = self._public = Public(state, metrics, limits, settings, self.routing)
            sets = bind(host, port, "port")
            await public.serve(sets[0])
        else:
            check_usable(settings, state.name)
            sets = bind(host, port, "port", sets=settings.workers)
            workers = self._public = Workers(
                state, metrics.observe, metrics.gap_bounds_ns, limits, settings, self.routing
            )
            await workers.serve(sets)
        public_side = self._public
        self.state.queued = lambda: public_side.waiting
        self.public_url = url_of(host, sets[0][0], tls=settings.tls is not None)

    async def _start_admin(self, host: str, port: int) -> None:
        (sockets,) = bind(host, port, "admin_port")
        app = admin_app(self.state, self.metrics, self.keeper)
        self._admin = Listener(web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S))
        await self._admin.start(sockets)
        self.admin_url = url_of(host, sockets[0], tls=False)

    def recorded_at(self, url: str | None) -> None:
        """Tell at `/status` where the Prometheus is that scrapes this gateway."""
        self.state.prometheus = url

    def add(self, backend: Backend) -> None:
        """Put an engine behind the gateway; it gets requests once its state is `ready`."""
        self.state.backends.add(backend)

    def open(self, verdicts: Sequence[Verdict]) -> None:
        """Take requests from now on: every engine has generated a token and every mode was judged."""
        if self.routing is not None and self.routing.weights:
            self.state.backends.set_weights(self.routing.weights)
        self.state.verdicts = tuple(verdicts)
        self.state.phase = "ready"

    async def withdraw(self) -> None:
        """Say at `/health/ready` that no more requests should come, but take them for the grace."""
        if self.state.phase == "ready" and self.settings.grace_s > 0:
            self.state.phase = "leaving"
            await asyncio.sleep(self.settings.grace_s)

    async def drain(self, timeout_s: float) -> int:
        """Take no more requests and let those in flight finish.

        Those that have not after `timeout_s` are ended with an error; returns how many those were.
        """
        self.state.phase = "draining"
        return 0 if self._public is None else await self._public.finish(timeout_s)

    async def stop(self) -> None:
        """Close both addresses and all connections; requests still in flight end with an error.

        Give them time with `drain` before.
        """
        if self.state.in_flight > 0:
            await self.drain(0)
        self.state.phase = "stopped"
        if self._probing is not None:
            await self._probing.stop()
            self._probing = None
        if self._public is not None:
            await self._public.stop()
            self._public = None
        if self._admin is not None:
            await self._admin.stop()
            self._admin = None
