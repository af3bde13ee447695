"""One request to the engines: chosen, opened, tried elsewhere, relayed, and closed however it ends.

Owns: the connections to engines and the order of tries. Knows nothing about routes, or about what a body
says: bytes are forwarded unread.
"""

from __future__ import annotations

import asyncio
import os
import time

from aiohttp import web

from serving.gateway.answer_usage import read_usage
from serving.gateway.answers import Refused, json_response
from serving.gateway.backends import ANSWERING, Backend
from serving.gateway.disaggregated.cleaning import NotJson, without_params
from serving.gateway.disaggregated.legs import TransferFailed, Transfers
from serving.gateway.elsewhere import Access, accesses, trust
from serving.gateway.errand import Errand, Task
from serving.gateway.failures import ErrorAnswer, Missed, nobody_ready, timed_out, upstream_failed
from serving.gateway.headers import SESSION, answer_headers, request_headers
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange, Gaps
from serving.gateway.patience import Patience, Waits
from serving.gateway.policies.policy import Ask
from serving.gateway.relay import ClientGone, Relay
from serving.gateway.retries import RetryBudget
from serving.gateway.routing import Router
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.shadow import Shadow
from serving.gateway.state import GatewayState
from serving.gateway.upstream.answer import Answer, KeyRefused, UpstreamFailed
from serving.gateway.upstream.pool import Pool, Sent
from serving.wire.problems import to_openai

__all__ = ["Proxy", "Task"]

_EVENT_STREAM = "text/event-stream"


class Proxy:
    """Forwards requests to the backends of one gateway. Made inside a running event loop."""

    def __init__(
        self,
        state: GatewayState,
        limits: GatewayLimits,
        settings: RoutingSettings | None = None,
        gap_bounds_ns: tuple[int, ...] = (),
    ) -> None:
        self._state = state
        self._limits = limits
        self._settings = settings or RoutingSettings()
        self._gap_bounds_ns = gap_bounds_ns
        self._waits = Waits(limits, asyncio.get_running_loop())
        self._clock = self._waits.clock
        self._router = Router(state.backends, self._settings)
        self._budget = RetryBudget(self._settings.retry_ratio)
        elsewhere = self._settings.elsewhere
        self._accesses = accesses(elsewhere, os.environ)
        self._pool = Pool(
            connect_s=limits.connect_s, idle_s=limits.idle_upstream_s, trust=trust(elsewhere, self._accesses)
        )
        self._transfers = Transfers(self._pool, self._router, self._settings, self._clock, lambda: state.legs)
        self.shadow = Shadow(state, self._router, self._pool, limits, self._accesses)

    async def close(self) -> None:
        """Close all connections to engines."""
        await self.shadow.close()
        await self._pool.close()

    def end_all(self) -> None:
        """Let every request that still runs end now, with an error that says so."""
        self._waits.end_all()

    async def forward(self, request: web.BaseRequest, task: Task, exchange: Exchange) -> web.StreamResponse:
        """Answer `request` with what a backend answers to it.

        Raises: Refused while nothing has been sent to the client, ClientGone, CancelledError when the
        client closes its connection. The upstream connection is closed in every case but a whole answer.
        """
        relay = Relay(request, exchange, self._limits)
        patience: Patience | None = None
        try:
            async with asyncio.timeout(None) as timer:
                patience = self._waits.begin(timer)
                return await self._carry(request, task, relay, patience)
        except TimeoutError as error:
            if relay.begun and patience and patience.wait == "next byte" and relay.client_stalled():
                # Nothing came from the engine because the client took nothing: not the engine's fault.
                raise ClientGone from error
            failure = timed_out(patience, self._limits)
        except UpstreamFailed as error:
            failure = upstream_failed(error, self._limits, begun=relay.begun)
        finally:
            if patience is not None:
                self._waits.end(patience)
        if not relay.begun:
            raise failure
        exchange.kind = failure.kind
        return await relay.break_off(failure)

    async def _carry(
        self, request: web.BaseRequest, task: Task, relay: Relay, patience: Patience
    ) -> web.StreamResponse:
        exchange = relay.exchange
        errand = self._errand(request, task, exchange)
        exchange.gaps = Gaps(self._gap_bounds_ns)
        self._budget.request()
        await self._transfers.prefill(errand, exchange, self._limits)
        self.shadow.maybe(errand, exchange)
        missed: Missed | None = None
        while (backend := self._next(errand, exchange, missed)) is not None:
            exchange.backend, exchange.revision, exchange.role = backend.url, backend.revision, backend.role
            with backend.serving():
                try:
                    return await self._try(backend, errand, relay, patience)
                except TransferFailed:
                    # Once more, without the transfer: the same engine may do it.
                    exchange.fallback = "transfer_failed"
                    continue
                except Missed as failed:
                    missed = failed
            self._note(backend, errand, exchange, missed)
        if missed is None:
            raise nobody_ready(self._limits, self._state.again_in_s)
        if missed.answer is not None:
            return self._engine_error(missed.answer, exchange)
        raise missed.failure or RuntimeError("a try failed without a reason")

    def _errand(self, request: web.BaseRequest, task: Task, exchange: Exchange) -> Errand:
        body, exchange.body = exchange.body, None
        if body:
            try:
                body = without_params(body)
            except NotJson as error:
                raise Refused(400, str(error), code="invalid_body") from error
        ask = Ask(body or b"", request.headers.get(SESSION), exchange.caller.key_id)
        revision, stands_in = self._router.first(ask)
        if revision is None:
            raise nobody_ready(self._limits, self._state.again_in_s)
        exchange.lent = stands_in
        headers = {**request_headers(request.headers, exchange.request_id), **exchange.engine_headers}
        return Errand(task, request.method, headers, ask, revision, body)

    def _next(self, errand: Errand, exchange: Exchange, missed: Missed | None) -> Backend | None:
        """The backend for the next try, paid for; None: it is time to give up."""
        if len(errand.tried) >= self._settings.attempts:
            return None
        now = self._clock()
        backend = self._router.choose(errand.revision, ANSWERING, errand.ask, now, errand.tried)
        if backend is None:
            # A revision whose backends all fail must not cost its share of the requests their answer.
            lent = self._router.revision(errand.ask, without=[b.revision for b in errand.tried])
            if lent is None:
                return None
            errand.revision, exchange.lent = lent, True
            backend = self._router.choose(lent, ANSWERING, errand.ask, now, errand.tried)
        if backend is not None and missed is not None and not self._budget.take():
            return None
        return backend

    def _note(self, backend: Backend, errand: Errand, exchange: Exchange, missed: Missed) -> None:
        rest_s = self._settings.rest_s
        if missed.answer is not None:
            rest_s = missed.answer.rest_s(rest_s)
        self._router.rest(backend, self._clock(), rest_s)
        errand.tried.append(backend)
        exchange.missed = (*exchange.missed, (backend.revision, backend.role, backend.url))

    async def _try(
        self, backend: Backend, errand: Errand, relay: Relay, patience: Patience
    ) -> web.StreamResponse:
        """Ask one backend. Raises: Missed, if another may be asked; TransferFailed; UpstreamFailed."""
        exchange = relay.exchange
        access = self._accesses.get(backend.revision)
        headers = errand.headers
        if access is None:
            with_transfer = errand.bodies is not None
            body = self._transfers.body(errand)
        else:
            # Addresses of our engines are nobody else's business.
            with_transfer, errand.bodies = False, None
            headers, body = access.dress(headers, errand.body)
        opened: list[Answer] = []
        patience.expect("first byte", self._limits.first_byte_s)
        exchange.upstream_sent_ns = time.monotonic_ns()
        try:
            sent = await self._pool.ask(
                backend.url, errand.method, errand.task.path, headers, body, opened.append
            )
            exchange.reused = sent.reused
            if with_transfer:
                await self._transfers.judge(sent, errand)
            if access is not None and sent.head.status in (401, 403):
                raise KeyRefused(f"{sent.head.status} to the gateway's own key")
            if sent.head.status >= 400:
                return await self._error(sent, exchange)
            if not sent.answer.is_whole:
                patience.expect("next byte", self._limits.between_bytes_s)
            if access is not None and access.reads(errand.task.path):
                return await self._listing(sent, errand, access, exchange)
            return await self._answer(sent, errand, relay, patience)
        except UpstreamFailed as error:
            if relay.begun:
                raise
            if with_transfer:
                raise TransferFailed from error
            raise Missed(failure=error) from error
        finally:
            # Nothing to do after a whole answer; otherwise this is what tells the engine to abort.
            for answer in opened:
                answer.close()

    async def _listing(
        self, sent: Sent, errand: Errand, access: Access, exchange: Exchange
    ) -> web.StreamResponse:
        body = access.listing(errand.task.path, await sent.answer.read(self._limits.max_error_bytes))
        return self._document(
            sent.head.status, body if errand.task.rewrite is None else errand.task.rewrite(body), exchange
        )

    def _document(self, status: int, body: bytes, exchange: Exchange) -> web.Response:
        exchange.status, exchange.kind, exchange.bytes_out = status, "ok", len(body)
        return json_response(status, body, exchange.request_id)

    async def _error(self, sent: Sent, exchange: Exchange) -> web.Response:
        body = await sent.answer.read(self._limits.max_error_bytes)
        answer = ErrorAnswer(sent.head.status, sent.head.headers, body)
        if answer.elsewhere:
            raise Missed(answer=answer)
        return self._engine_error(answer, exchange)

    async def _answer(
        self, sent: Sent, errand: Errand, relay: Relay, patience: Patience
    ) -> web.StreamResponse:
        head, exchange = sent.head, relay.exchange
        if head.status >= 300:
            # None of the allowed paths redirects; what would is not an engine, and names its own address.
            raise Refused(502, "the engine redirected", code="bad_upstream_answer", kind="upstream_error")
        if errand.task.rewrite is not None:
            body = errand.task.rewrite(await sent.answer.read(self._limits.max_error_bytes))
            return self._document(head.status, body, exchange)
        # The tries are over: an answer may run for an hour, do not hold its question for so long.
        errand.body, errand.bodies, errand.ask = None, None, Ask()
        exchange.streamed = head.headers.get("content-type", "").startswith(_EVENT_STREAM)
        headers = {**answer_headers(head.headers, exchange.request_id), **exchange.answer_headers}
        if self._transfers.may_show_params(errand, exchange):
            return await self._transfers.clean_answer(sent, headers, exchange, self._limits)
        try:
            response = await relay.forward(sent.answer, head.status, headers, patience)
        finally:
            if (used := read_usage(relay.tail())) is not None:
                exchange.tokens_in, exchange.tokens_out = used
        exchange.kind = "ok"
        return response

    def _engine_error(self, answer: ErrorAnswer, exchange: Exchange) -> web.Response:
        exchange.status = answer.status
        exchange.kind = "rejected" if answer.status < 500 else "upstream_error"
        kept = {"Retry-After": said} if (said := answer.headers.get("retry-after")) else {}
        body = to_openai(answer.status, answer.body, answer.headers.get("content-type"))
        exchange.bytes_out = len(body)
        return json_response(answer.status, body, exchange.request_id, kept)
