"""The admin application: metrics, status, and what rollouts need, for this machine only.

Owns: these answers and the guard on who may ask. Knows nothing about listening or about the public address.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST
from yarl import URL

from serving.errors import UsageError
from serving.gateway.answers import SERVER, document
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.revisions import Keeper, add_routes, refusal
from serving.gateway.rollout_metrics import check_told
from serving.gateway.state import GatewayState, ShadowShare

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def admin_app(state: GatewayState, metrics: GatewayMetrics, keeper: Keeper | None = None) -> web.Application:
    """The application of the admin address; without a keeper no engines are started or ended over it."""

    async def expose(request: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def status(request: web.Request) -> web.Response:
        return web.Response(body=document(state.document()), content_type="application/json")

    async def weights(request: web.Request) -> web.Response:
        try:
            state.set_weights(read_weights(await request.read()))
        except ValueError as error:
            return refusal(error)
        return web.Response(body=document(state.document()), content_type="application/json")

    async def shadow(request: web.Request) -> web.Response:
        try:
            state.set_shadow(read_shadow(await request.read()))
        except ValueError as error:
            return refusal(error)
        return web.Response(body=document(state.document()), content_type="application/json")

    async def rollout(request: web.Request) -> web.Response:
        try:
            told = _document(await request.read())
            if told:
                check_told(told)
            state.rollout = told or None
        except ValueError as error:
            return refusal(error)
        return web.Response(body=document(state.document()), content_type="application/json")

    app = web.Application(middlewares=[_only_this_machine])
    app.router.add_put("/revisions", weights)
    app.router.add_post("/shadow", shadow)
    app.router.add_put("/rollout", rollout)
    if keeper is not None:
        add_routes(app, state, keeper)
    app.router.add_get("/metrics", expose)
    app.router.add_get("/status", status)
    app.on_response_prepare.append(_name_ourselves)
    return app


def read_weights(body: bytes) -> dict[str, float]:
    """The weights in the body of `PUT /revisions`: `{"name": number, ...}`. Raises: ValueError."""
    sent = _document(body)
    for name, weight in sent.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ValueError(f"the weight of {name!r} is {weight!r}; give a number from 0 on")
    return {name: float(weight) for name, weight in sent.items()}


def read_shadow(body: bytes) -> ShadowShare | None:
    """The body of `POST /shadow`: `{"revision": name, "ratio": 0..1}`; ratio 0: none. Raises: ValueError."""
    sent = _document(body)
    revision, ratio = sent.get("revision"), sent.get("ratio")
    if sent.keys() - {"revision", "ratio"} or not isinstance(revision, str):
        raise ValueError('write {"revision": name, "ratio": number}')
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 <= ratio <= 1:
        raise ValueError(f"the ratio is {ratio!r}; give a number from 0 to 1")
    return ShadowShare(revision, float(ratio)) if ratio else None


def _document(body: bytes) -> dict[str, Any]:
    sent = json.loads(body)
    if not isinstance(sent, dict):
        raise ValueError("the body is not a JSON object")
    return sent


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
