"""One request to one engine: opened, relayed, and closed however it ends.

Owns: the connections to engines, what crosses in both directions, and what each failure means to the client.
Knows nothing about routes, or about what a body says: bytes are forwarded unread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from yarl import URL

from serving.gateway import request_ids
from serving.gateway.answers import Refused, json_response, own_headers, retry_after
from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange
from serving.gateway.patience import Patience
from serving.gateway.relay import ClientGone, Relay
from serving.gateway.routing import choose
from serving.gateway.state import GatewayState
from serving.wire.problems import to_openai

# Allow-lists, so that nothing crosses by accident: no hop-by-hop header, no cookie, no key of a client, no
# header that steers an engine (vLLM's X-data-parallel-rank), no `Server: uvicorn`, no address in `Location`.
REQUEST_HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Content-Encoding",
    "Content-Type",
    "Traceparent",
    "Tracestate",
    "User-Agent",
)
ANSWER_HEADERS = ("Cache-Control", "Content-Encoding", "Content-Length", "Content-Type", "Retry-After")
_EVENT_STREAM = "text/event-stream"

Rewrite = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Task:
    """What to ask an engine for. `rewrite` makes our answer's body from the engine's; None: unread."""

    path: str
    rewrite: Rewrite | None = None


class Proxy:
    """Forwards requests to the backends of one gateway. Made inside a running event loop."""

    def __init__(self, state: GatewayState, limits: GatewayLimits) -> None:
        self._state = state
        self._limits = limits
        self._waiting: set[Patience] = set()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=limits.idle_upstream_s),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            # aiohttp would invent these where the client sent none.
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )

    async def close(self) -> None:
        """Close all connections to engines."""
        await self._session.close()

    def end_all(self) -> None:
        """Let every request that still runs end now, with an error that says so."""
        for patience in self._waiting:
            patience.end_now()

    async def forward(self, request: web.BaseRequest, task: Task, exchange: Exchange) -> web.StreamResponse:
        """Answer `request` with what a backend answers to it.

        Raises: Refused while nothing has been sent to the client, ClientGone, CancelledError when the
        client closes its connection. The upstream connection is closed in every case but a whole answer.
        """
        relay = Relay(request, exchange, self._limits)
        patience: Patience | None = None
        try:
            async with asyncio.timeout(None) as timer:
                patience = Patience(timer, self._limits, asyncio.get_running_loop().time)
                self._waiting.add(patience)
                return await self._carry(request, task, relay, patience)
        except TimeoutError as error:
            if relay.begun and patience and patience.wait == "next byte" and relay.client_stalled():
                # Nothing came from the engine because the client took nothing: not the engine's fault.
                raise ClientGone from error
            failure = self._timed_out(error, patience)
        except (aiohttp.ClientError, OSError) as error:
            failure = self._upstream_failed(error, begun=relay.begun)
        finally:
            if patience is not None:
                self._waiting.discard(patience)
        if not relay.begun:
            raise failure
        exchange.kind = failure.kind
        return await relay.break_off(failure)

    async def _carry(
        self, request: web.BaseRequest, task: Task, relay: Relay, patience: Patience
    ) -> web.StreamResponse:
        exchange = relay.exchange
        backend = self.choose()
        exchange.backend, exchange.revision = backend.url, backend.revision
        with backend.serving():
            patience.expect("first byte", self._limits.first_byte_s)
            exchange.upstream_sent_ns = time.monotonic_ns()
            headers = request_headers(request.headers, exchange.request_id)
            upstream = await self.open(backend, request.method, task.path, headers, exchange.body)
            # An answer may run for an hour: do not hold its question for so long.
            exchange.body = None
            try:
                patience.expect("next byte", self._limits.between_bytes_s)
                return await self._answer(upstream, task, relay, patience)
            finally:
                # Nothing to do after a whole answer; otherwise this is what tells the engine to abort.
                upstream.close()

    def choose(self) -> Backend:
        """The backend for the next request. Raises: Refused (503) if there is none."""
        backend = choose(self._state.backends)
        if backend is None:
            raise Refused(
                503, "no engine is ready", code="no_engine_ready",
                headers=retry_after(self._limits.retry_after_s),
            )  # fmt: skip
        return backend

    async def open(
        self, backend: Backend, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Send a request, wait for the answer's head. The caller closes it. Raises: aiohttp.ClientError."""
        url = URL(backend.url + path, encoded=True)
        return await self._session.request(method, url, headers=headers, data=body, allow_redirects=False)

    async def _answer(
        self, upstream: aiohttp.ClientResponse, task: Task, relay: Relay, patience: Patience
    ) -> web.StreamResponse:
        status, exchange = upstream.status, relay.exchange
        if status >= 400:
            return await self._engine_error(upstream, exchange)
        if status >= 300:
            # None of the allowed paths redirects; what would is not an engine, and names its own address.
            raise Refused(502, "the engine redirected", code="bad_upstream_answer", kind="upstream_error")
        if task.rewrite is not None:
            return await self._rewritten(upstream, task.rewrite, exchange)
        exchange.streamed = upstream.headers.get("Content-Type", "").startswith(_EVENT_STREAM)
        await relay.begin(status, answer_headers(upstream.headers, exchange.request_id))
        response = await relay.forward(upstream.content.iter_any(), patience)
        exchange.kind = "ok"
        return response

    async def _rewritten(
        self, upstream: aiohttp.ClientResponse, rewrite: Rewrite, exchange: Exchange
    ) -> web.Response:
        body = rewrite(await read_at_most(upstream, self._limits.max_error_bytes))
        exchange.status, exchange.kind, exchange.bytes_out = upstream.status, "ok", len(body)
        return json_response(upstream.status, body, exchange.request_id)

    async def _engine_error(self, upstream: aiohttp.ClientResponse, exchange: Exchange) -> web.Response:
        status = upstream.status
        said = await read_at_most(upstream, self._limits.max_error_bytes)
        exchange.status = status
        exchange.kind = "rejected" if status < 500 else "upstream_error"
        kept = {name: upstream.headers[name] for name in ("Retry-After",) if name in upstream.headers}
        body = to_openai(status, said, upstream.headers.get("Content-Type"))
        exchange.bytes_out = len(body)
        return json_response(status, body, exchange.request_id, kept)

    def _timed_out(self, error: TimeoutError, patience: Patience | None) -> Refused:
        again = retry_after(self._limits.retry_after_s)
        if isinstance(error, aiohttp.ServerTimeoutError) or patience is None:
            message = f"the engine did not accept a connection within {self._limits.connect_s:g} s"
            return Refused(503, message, code="engine_unreachable", kind="timeout", headers=again)
        if patience.wait == "shutdown":
            return Refused(503, "the server is shutting down", code="shutting_down", headers=again)
        if patience.wait == "total":
            message = f"the request was not finished after {patience.limit_s:g} s"
        else:
            message = f"the engine sent nothing for {patience.limit_s:g} s"
        return Refused(504, message, code="timeout", kind="timeout")

    def _upstream_failed(self, error: Exception, *, begun: bool) -> Refused:
        if isinstance(error, aiohttp.ClientConnectorError):
            return Refused(
                503, "the engine cannot be reached", code="engine_unreachable", kind="upstream_error",
                headers=retry_after(self._limits.retry_after_s),
            )  # fmt: skip
        if begun:
            message = "the engine broke off its answer"
        elif isinstance(error, aiohttp.ClientResponseError):
            message = "the engine's answer is not valid HTTP"
        else:
            message = "the engine closed the connection without an answer"
        return Refused(502, message, code="bad_upstream_answer", kind="upstream_error")


def request_headers(client: Mapping[str, str], request_id: str) -> dict[str, str]:
    """The headers sent to the engine. Without Accept-Encoding, the engine must not encode its answer."""
    kept = {name: client[name] for name in REQUEST_HEADERS if name in client}
    return {"Accept-Encoding": "identity", **kept, request_ids.HEADER: request_id}


def answer_headers(engine: Mapping[str, str], request_id: str) -> dict[str, str]:
    """The headers sent to the client."""
    kept = {name: engine[name] for name in ANSWER_HEADERS if name in engine}
    return {**kept, **own_headers(request_id)}


async def read_at_most(upstream: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
    """The body of an answer, or its first `limit_bytes`."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in upstream.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size >= limit_bytes:
            break
    return b"".join(chunks)[:limit_bytes]
