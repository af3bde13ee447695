"""The public application: one request from its first line to its one Outcome.

Owns: the order of what is asked before an engine is (route, key, readiness, rate, body, place), the health
answers, and that every request is recorded once. Knows nothing about sockets, engines or how bytes are
forwarded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from aiohttp import web

from serving.gateway import cors, request_ids
from serving.gateway.access_log import access_line, access_logger
from serving.gateway.answers import Refused, document, json_response, own_headers, retry_after
from serving.gateway.edge import EdgeServer
from serving.gateway.gate import Gate
from serving.gateway.intake import Intake
from serving.gateway.limits import GatewayLimits
from serving.gateway.model_names import ModelNames
from serving.gateway.observer import Observer
from serving.gateway.outcome import Exchange, Outcome
from serving.gateway.proxy import Proxy, Task
from serving.gateway.reception import Guest, Reception
from serving.gateway.relay import ClientGone
from serving.gateway.routes import Match, Route, match
from serving.gateway.settings import EdgeSettings
from serving.gateway.state import GatewayState
from serving.gateway.tracing import Span, Tracer

logger = logging.getLogger("teapot.gateway")

NO_ROUTE = "other"
"""The path label of requests that no route matched."""


class PublicApp:
    """Handles the requests of one gateway. Made inside a running event loop."""

    def __init__(
        self,
        state: GatewayState,
        proxy: Proxy,
        metrics: Observer,
        limits: GatewayLimits,
        settings: EdgeSettings,
        reception: Reception,
        tracer: Tracer | None = None,
    ) -> None:
        self._state = state
        self._proxy = proxy
        self._metrics = metrics
        self._limits = limits
        self._origins = settings.cors_origins
        self._names = ModelNames(settings.aliases)
        self._reception = reception
        self._tracer = tracer
        self._intake = Intake(limits)
        self._gate = Gate(settings, limits.retry_after_s)

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return self._gate.waiting

    def end_all(self) -> None:
        """Let every request that is not at an engine yet end now, with an error that says so."""
        self._intake.end_all()
        self._gate.end_all()

    def server(self) -> EdgeServer:
        """The server to listen with."""
        return EdgeServer(self.handle, self.refuse_broken, self._limits)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; its Outcome is recorded, however it ends. Probes are not recorded."""
        request_id = request_ids.accept(request.headers.get(request_ids.HEADER))
        found = match(request.raw_path)
        if found and found.route.action in ("live", "ready") and request.method in found.route.methods:
            return self._probe(found.route, request_id)
        exchange = Exchange(request_id, found.route.path if found else NO_ROUTE, time.monotonic_ns())
        if self._origins:
            exchange.answer_headers = cors.answer_headers(request.headers.get("Origin"), self._origins)
        response = await self._recorded(request, found, exchange)
        if exchange.answer_headers and not response.prepared:
            response.headers.update(exchange.answer_headers)
        return response

    async def _recorded(
        self, request: web.BaseRequest, found: Match | None, exchange: Exchange
    ) -> web.StreamResponse:
        visit = _Visit(self._span(request, exchange))
        self._state.in_flight += 1
        try:
            return await self._answer(request, found, exchange, visit)
        except Refused as refused:
            exchange.kind, exchange.status = refused.kind, refused.status
            return refused.response(exchange.request_id)
        except ClientGone:
            exchange.kind = "client_gone"
            return _nobody_reads_this(request)
        except asyncio.CancelledError:
            if request.transport is None or request.transport.is_closing():
                exchange.kind = "client_gone"
            raise
        except Exception:  # The border of a request: whatever it is, the client gets an answer.
            logger.exception("request %s failed", exchange.request_id)
            return self._own_fault(request, exchange)
        finally:
            self._state.in_flight -= 1
            outcome = exchange.outcome(time.monotonic_ns())
            self._record(outcome)
            if visit.guest is not None:
                self._reception.settle(visit.guest, outcome)
            if visit.span is not None:
                visit.span.end(outcome)

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
        self, request: web.BaseRequest, found: Match | None, exchange: Exchange, visit: _Visit
    ) -> web.StreamResponse:
        if found is None:
            raise Refused(404, f"there is nothing at this address for {request.method}", code="unknown_url")
        if request.method not in found.route.methods:
            return self._other_method(request, found.route, exchange)
        guest = self._reception.recognise(request.headers.get("Authorization"))
        exchange.caller = guest.caller
        self._refuse_unready()
        visit.guest = self._reception.admit(guest, request.content_length or 0)
        if request.method != "POST":
            path, rewrite = self._names.listing(found)
            return await self._proxy.forward(request, Task(path, rewrite), exchange)
        body = await self._intake.read(request)
        exchange.bytes_in = len(body)
        encoded = "Content-Encoding" in request.headers
        exchange.body = body if encoded else self._names.put_right(body)
        del body
        async with self._gate:
            exchange.admitted_ns = time.monotonic_ns()
            return await self._proxy.forward(request, Task(found.route.path), exchange)

    def _other_method(self, request: web.BaseRequest, route: Route, exchange: Exchange) -> web.Response:
        if cors.is_preflight(request.method, request.headers, self._origins):
            origin = request.headers.get("Origin")
            exchange.answer_headers = cors.preflight_headers(origin, self._origins, route.methods)
            exchange.kind, exchange.status = "ok", 204
            return web.Response(status=204, headers=own_headers(exchange.request_id))
        allowed = ", ".join(route.methods)
        raise Refused(
            405, f"{route.path} takes {allowed}, not {request.method}", code="method_not_allowed",
            headers={"Allow": allowed},
        )  # fmt: skip

    def _span(self, request: web.BaseRequest, exchange: Exchange) -> Span | None:
        if self._tracer is None:
            return None
        span = self._tracer.start(request.method, exchange.path, request.headers)
        exchange.engine_headers = span.headers()
        return span

    def _refuse_unready(self) -> None:
        unready = self._state.refuses()
        if unready is None:
            return
        raise Refused(
            503, unready.message, code=unready.code, headers=self._again(),
            hang_up=self._state.phase == "draining",
        )  # fmt: skip

    def _again(self) -> Mapping[str, str]:
        return retry_after(self._state.again_in_s or self._limits.retry_after_s)

    def _probe(self, route: Route, request_id: str) -> web.Response:
        unready = self._state.unready() if route.action == "ready" else None
        if unready is not None:
            refused = Refused(503, unready.message, code=unready.code, headers=self._again())
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


class _Visit:
    """What the edge keeps of a request until its end."""

    __slots__ = ("guest", "span")

    def __init__(self, span: Span | None) -> None:
        self.span = span
        self.guest: Guest | None = None


def _nobody_reads_this(request: web.BaseRequest) -> web.Response:
    """Cut the connection; aiohttp wants a response all the same, and drops it as the connection is closed."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)
