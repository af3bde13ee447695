"""Carries the first leg of a divided request, and sees whether the second may go to the client.

Owns: asking a prefilling engine, in time, and the judgement of a decoding engine's first bytes. Knows nothing
about clients. `machine` says what follows what, `division` what is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from serving.connectors.connector import Legs
from serving.gateway.answer_usage import read_usage
from serving.gateway.answers import Refused
from serving.gateway.backends import Backend, Role
from serving.gateway.disaggregated.cleaning import NotJson, answer_without_params
from serving.gateway.disaggregated.division import divide, enough_to_judge, first_events_fail
from serving.gateway.disaggregated.machine import Division, Event, State
from serving.gateway.errand import Errand
from serving.gateway.failures import prefill_failed
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.routing import Router
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.upstream.answer import Answer, UpstreamFailed
from serving.gateway.upstream.pool import Pool, Sent

_MAX_PREFILL_ANSWER = 16 * 1024**2
"""Block ids of a long prompt are many numbers; more than this is no answer."""
_MAX_HELD = 64 * 1024
PREFILL: tuple[Role, ...] = ("prefill",)


class TransferFailed(Exception):
    """The decoding engine failed before the client got anything, perhaps because its blocks did not come."""


class Transfers:
    """The prefill legs of one gateway."""

    def __init__(
        self, pool: Pool, router: Router, settings: RoutingSettings, clock: Callable[[], float],
        later: Callable[[], Legs | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._router = router
        self._settings = settings
        self._clock = clock
        self._later = later
        """How requests are divided for a revision that came after the settings; None: as these say."""

    async def prefill(self, errand: Errand, exchange: Exchange, limits: GatewayLimits) -> None:
        """Let a prefilling engine begin, where the revision has one and the request is worth it.

        Raises: Refused if that fails and the deployment wants an error.
        """
        if not errand.revision.prefills:
            return
        body = errand.body or b""
        legs = self._later() or self._settings.legs
        bodies = divide(errand.task.path, body, legs, self._settings.prefill_from_tokens)
        if bodies is None:
            return
        errand.bodies, errand.division = bodies, Division(self._settings.on_prefill_failure)
        began_s = self._clock()
        answered = await self._first_leg(errand, bodies.first())
        ok = answered is not None and bodies.take_params(answered)
        exchange.prefill_s = self._clock() - began_s
        after = errand.division.on(Event.TRANSFERABLE if ok else Event.PREFILL_FAILED)
        if after is not State.DECODE:
            errand.bodies, exchange.fallback = None, "prefill_failed"
        if after is State.REFUSED:
            raise prefill_failed(limits)

    def body(self, errand: Errand) -> bytes | None:
        """What the next engine is sent. A transfer's params are used once."""
        bodies, errand.bodies = errand.bodies, None
        return errand.body if bodies is None else bodies.second()

    async def judge(self, sent: Sent, errand: Errand) -> None:
        """Hold the decoding engine's answer until it is known to be one. Raises: TransferFailed."""
        answer = sent.answer
        failed = sent.head.status >= 500
        if sent.head.headers.get("content-type", "").startswith("text/event-stream"):
            while not answer.finished.done():
                held = answer.waiting()
                if len(held) >= _MAX_HELD or enough_to_judge(errand.task.path, held):
                    break
                await answer.more()
            failed = failed or first_events_fail(answer.waiting())
        assert errand.division is not None
        errand.division.on(Event.NOT_LOADED if failed else Event.ANSWERED)
        if failed:
            raise TransferFailed

    def may_show_params(self, errand: Errand, exchange: Exchange) -> bool:
        """Whether an answer can hold params of a transfer, which have internal addresses in them."""
        return errand.revision.prefills and not exchange.streamed

    async def clean_answer(
        self, sent: Sent, headers: dict[str, str], exchange: Exchange, limits: GatewayLimits
    ) -> web.Response:
        """A whole answer, read to its end and without params."""
        body = await sent.answer.read(limits.max_answer_bytes)
        try:
            body = answer_without_params(body)
        except NotJson as error:
            raise Refused(502, str(error), code="bad_upstream_answer", kind="upstream_error") from error
        if (used := read_usage(body[-2048:])) is not None:
            exchange.tokens_in, exchange.tokens_out = used
        exchange.status, exchange.kind = sent.head.status, "ok"
        exchange.arrived(time.monotonic_ns(), len(body))
        headers = {name: value for name, value in headers.items() if name != "Content-Length"}
        return web.Response(status=sent.head.status, body=body, headers=headers)

    async def _first_leg(self, errand: Errand, body: bytes) -> bytes | None:
        """The answer of the first prefilling engine that gives one; None if none does in time."""
        tried: list[Backend] = []
        try:
            async with asyncio.timeout(self._settings.prefill_s):
                while len(tried) < self._settings.attempts:
                    now = self._clock()
                    backend = self._router.choose(errand.revision, PREFILL, errand.ask, now, tried)
                    if backend is None:
                        return None
                    with backend.serving():
                        try:
                            return await self._ask(backend, errand, body)
                        except UpstreamFailed:
                            self._router.rest(backend, self._clock(), self._settings.rest_s)
                            tried.append(backend)
        except TimeoutError:
            return None
        return None

    async def _ask(self, backend: Backend, errand: Errand, body: bytes) -> bytes | None:
        opened: list[Answer] = []
        try:
            sent = await self._pool.ask(
                backend.url, errand.method, errand.task.path, errand.headers, body, opened.append
            )
            answered = await sent.answer.read(_MAX_PREFILL_ANSWER)
            return answered if sent.head.status == 200 else None
        finally:
            for answer in opened:
                answer.close()
