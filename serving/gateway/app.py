"""The public application: one request from its first line to its one Outcome.

Owns: what is refused before an engine is asked, the health answers, and that every request is recorded once.
Knows nothing about sockets, engines or how bytes are forwarded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

from aiohttp import web

from serving.gateway import request_ids
from serving.gateway.answers import Refused, document, json_response, retry_after
from serving.gateway.edge import EdgeServer
from serving.gateway.intake import Intake
from serving.gateway.limits import GatewayLimits
from serving.gateway.metrics import GatewayMetrics
from serving.gateway.models import pick_model
from serving.gateway.outcome import Exchange, Outcome
from serving.gateway.proxy import Proxy, Task
from serving.gateway.relay import ClientGone
from serving.gateway.routes import Match, Route, match
from serving.gateway.state import GatewayState

logger = logging.getLogger("teapot.gateway")
# One line a request at INFO, so off unless asked for.
access_logger = logging.getLogger("teapot.gateway.access")

NO_ROUTE = "other"
"""The path label of requests that no route matched."""


class PublicApp:
    """Handles the requests of one gateway."""

    def __init__(
        self, state: GatewayState, proxy: Proxy, metrics: GatewayMetrics, limits: GatewayLimits
    ) -> None:
        self._state = state
        self._proxy = proxy
        self._metrics = metrics
        self._limits = limits
        self._intake = Intake(limits)

    def end_all(self) -> None:
        """Let every request that is not at an engine yet end now, with an error that says so."""
        self._intake.end_all()

    def server(self) -> EdgeServer:
        """The server to listen with. Needs a running event loop."""
        return EdgeServer(self.handle, self.refuse_broken, self._limits)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; its Outcome is recorded, however it ends. Probes are not recorded."""
        request_id = request_ids.accept(request.headers.get(request_ids.HEADER))
        found = match(request.raw_path)
        if found and found.route.action in ("live", "ready") and request.method in found.route.methods:
            return self._probe(found.route, request_id)
        path = found.route.path if found else NO_ROUTE
        exchange = Exchange(request_id, path, accepted_ns=time.monotonic_ns())
        self._state.in_flight += 1
        try:
            return await self._answer(request, found, exchange)
        except Refused as refused:
            exchange.kind, exchange.status = refused.kind, refused.status
            return refused.response(request_id)
        except ClientGone:
            exchange.kind = "client_gone"
            return _nobody_reads_this(request)
        except asyncio.CancelledError:
            if request.transport is None or request.transport.is_closing():
                exchange.kind = "client_gone"
            raise
        except Exception:  # The border of a request: whatever it is, the client gets an answer.
            logger.exception("request %s failed", request_id)
            return self._own_fault(request, exchange)
        finally:
            self._state.in_flight -= 1
            self._record(exchange.outcome(time.monotonic_ns()))

    def refuse_broken(self, status: int) -> web.Response:
        """Answer and record what could not be parsed as a request."""
        now = time.monotonic_ns()
        exchange = Exchange(request_ids.accept(None), NO_ROUTE, now, kind="rejected", status=status)
        self._record(exchange.outcome(now))
        refused = Refused(
            status, "the request is not valid HTTP, or its head is too long", code="invalid_http"
        )
        return refused.response(exchange.request_id)

    async def _answer(
        self, request: web.BaseRequest, found: Match | None, exchange: Exchange
    ) -> web.StreamResponse:
        if found is None:
            raise Refused(404, f"there is nothing at this address for {request.method}", code="unknown_url")
        route = found.route
        if request.method not in route.methods:
            allowed = ", ".join(route.methods)
            raise Refused(
                405, f"{route.path} takes {allowed}, not {request.method}", code="method_not_allowed",
                headers={"Allow": allowed},
            )  # fmt: skip
        self._refuse_unready()
        if found.model is not None:
            task = Task("/v1/models", partial(pick_model, model=found.model))
        else:
            task = Task(route.path)
        if request.method == "POST":
            exchange.body = await self._intake.read(request)
            exchange.bytes_in = len(exchange.body)
        return await self._proxy.forward(request, task, exchange)

    def _refuse_unready(self) -> None:
        unready = self._state.unready()
        if unready is None:
            return
        raise Refused(
            503, unready.message, code=unready.code, headers=retry_after(self._limits.retry_after_s),
            hang_up=self._state.phase == "draining",
        )  # fmt: skip

    def _probe(self, route: Route, request_id: str) -> web.Response:
        unready = self._state.unready() if route.action == "ready" else None
        if unready is not None:
            refused = Refused(
                503, unready.message, code=unready.code, headers=retry_after(self._limits.retry_after_s)
            )
            return refused.response(request_id)
        return json_response(200, document({"status": route.action}), request_id)

    def _own_fault(self, request: web.BaseRequest, exchange: Exchange) -> web.Response:
        exchange.kind = "error"
        if exchange.status is not None:
            return _nobody_reads_this(request)
        exchange.status = 500
        refused = Refused(
            500, "the gateway failed; its log has the reason", code="gateway_error", kind="error"
        )
        return refused.response(exchange.request_id)

    def _record(self, outcome: Outcome) -> None:
        self._metrics.observe(outcome)
        if access_logger.isEnabledFor(logging.INFO):
            access_logger.info("%s", access_line(outcome))


def access_line(outcome: Outcome) -> str:
    """One request for the access log: no prompt, no key, no query, no address."""
    duration_ms = (outcome.ended_ns - outcome.accepted_ns) / 1e6
    return (
        f"{outcome.request_id} {outcome.path} {outcome.status or '-'} {outcome.kind} "
        f"{duration_ms:.1f}ms in={outcome.bytes_in} out={outcome.bytes_out}"
    )


def _nobody_reads_this(request: web.BaseRequest) -> web.Response:
    """Cut the connection; aiohttp wants a response all the same, and drops it as the connection is closed."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)
