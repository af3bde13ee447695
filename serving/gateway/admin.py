"""The admin application: `/metrics` and `/status`, for this machine only.

Owns: these answers and the guard on who may ask. Knows nothing about listening or about the public address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST
from yarl import URL

from serving.errors import UsageError
from serving.gateway.answers import SERVER, document
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.state import GatewayState

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def admin_app(state: GatewayState, metrics: GatewayMetrics) -> web.Application:
    """The application of the admin address."""

    async def expose(request: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def status(request: web.Request) -> web.Response:
        return web.Response(body=document(state.document()), content_type="application/json")

    app = web.Application(middlewares=[_only_this_machine])
    app.router.add_get("/metrics", expose)
    app.router.add_get("/status", status)
    app.on_response_prepare.append(_name_ourselves)
    return app


def is_loopback(host: str) -> bool:
    """Whether a host, as a name or an address, is this machine itself."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_loopback(host: str) -> None:
    """Refuse an admin address that others could reach: it has no keys. Raises: UsageError."""
    if not is_loopback(host):
        raise UsageError(
            f"the admin address {host!r} is not a loopback address, and the admin interface has no keys",
            where="gateway.admin_host",
            fix="use 127.0.0.1, ::1 or localhost, and a tunnel to reach it from elsewhere",
        )


@web.middleware
async def _only_this_machine(request: web.Request, handler: Handler) -> web.StreamResponse:
    # A web page can make a browser on this machine connect here under a name that its own DNS points to
    # 127.0.0.1 (DNS rebinding), and then read the answer. The Host header gives that away.
    try:
        host = URL(f"http://{request.headers.get('Host', '')}").host
    except ValueError:
        host = None
    if host is None or not is_loopback(host):
        raise web.HTTPForbidden(text="the admin interface answers only to loopback names\n")
    return await handler(request)


async def _name_ourselves(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = SERVER
