"""Shadow traffic: a share of the requests is sent to a second revision too, and its answers are thrown away.

Owns: which requests are copied, how many at once, and their outcomes. Knows nothing about clients: no fault
of a shadow reaches one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from serving.gateway.answer_usage import TAIL_BYTES, read_usage
from serving.gateway.answers import Refused
from serving.gateway.backends import ANSWERING, Backend
from serving.gateway.elsewhere import Access
from serving.gateway.errand import Errand
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange, Gaps, Outcome
from serving.gateway.policies.weighted import even_point
from serving.gateway.routing import Router
from serving.gateway.state import GatewayState
from serving.gateway.upstream.answer import Answer, UpstreamFailed
from serving.gateway.upstream.pool import Pool

MOST_AT_ONCE = 64
"""A shadow that is slower than the traffic falls behind by so many requests and no more."""


class Shadow:
    """The copies of one gateway's requests."""

    def __init__(
        self, state: GatewayState, router: Router, pool: Pool, limits: GatewayLimits,
        accesses: Mapping[str, Access] | None = None,
    ) -> None:  # fmt: skip
        self._state = state
        self._router = router
        self._pool = pool
        self._limits = limits
        self._accesses = accesses or {}
        self._running: set[asyncio.Task[None]] = set()
        self._asked = 0
        self.observe: Callable[[Outcome], None] = lambda outcome: None
        """Who is told of each outcome."""

    def maybe(self, errand: Errand, exchange: Exchange) -> None:
        """Copy a request, if it falls into the share and there is room."""
        share = self._state.shadow
        if share is None or errand.revision.name == share.revision or errand.method != "POST":
            return
        self._asked += 1
        if even_point(self._asked) >= share.ratio or len(self._running) >= MOST_AT_ONCE:
            return
        revision = next((r for r in self._state.backends.revisions() if r.name == share.revision), None)
        if revision is None:
            return
        now = asyncio.get_running_loop().time()
        backend = self._router.choose(revision, ANSWERING, errand.ask, now)
        if backend is None:
            return
        headers, body = errand.headers, errand.body
        if (access := self._accesses.get(revision.name)) is not None:
            try:
                headers, body = access.dress(headers, body)
            except Refused:
                return
        copy = Exchange(
            exchange.request_id, exchange.path, time.monotonic_ns(), revision=revision.name,
            backend=backend.url, role=backend.role, bytes_in=len(errand.body or b""), traffic="shadow",
            gaps=Gaps(exchange.gaps.bounds_ns) if exchange.gaps else None,
        )  # fmt: skip
        task = asyncio.get_running_loop().create_task(
            self._run(backend, errand.task.path, dict(headers), body, copy)
        )
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """End all copies."""
        for task in list(self._running):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(
        self, backend: Backend, path: str, headers: dict[str, str], body: bytes | None, copy: Exchange
    ) -> None:
        opened: list[Answer] = []
        try:
            with backend.serving():
                async with asyncio.timeout(self._limits.total_s):
                    copy.upstream_sent_ns = time.monotonic_ns()
                    sent = await self._pool.ask(backend.url, "POST", path, headers, body, opened.append)
                    copy.reused, copy.status = sent.reused, sent.head.status
                    copy.streamed = sent.head.headers.get("content-type", "").startswith("text/event-stream")
                    sink = _Thrown(copy)
                    sent.answer.deliver_to(sink)
                    await asyncio.shield(sent.answer.finished)
                    if (used := read_usage(sink.tail)) is not None:
                        copy.tokens_in, copy.tokens_out = used
            copy.kind = "ok" if copy.status < 400 else "rejected" if copy.status < 500 else "upstream_error"
        except UpstreamFailed:
            copy.kind = "upstream_error"
        except TimeoutError:
            copy.kind = "timeout"
        except asyncio.CancelledError:
            copy.kind = "client_gone"
            raise
        finally:
            for answer in opened:
                answer.close()
            self.observe(copy.outcome(time.monotonic_ns()))


class _Thrown:
    """Counts what comes and keeps nothing but its end."""

    def __init__(self, copy: Exchange) -> None:
        self._copy = copy
        self.tail = b""

    def framed(self, chunks: bytes) -> None:
        self.part(chunks)

    def part(self, data: bytes) -> None:
        self._copy.arrived(time.monotonic_ns(), len(data))
        self.tail = (self.tail + data)[-TAIL_BYTES:]
