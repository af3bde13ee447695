"""The client's body, read whole and in time, before anything is asked of an engine.

Owns: how long and how large a body may be, and ending the wait when the server goes down. Knows nothing
about what a body says.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from serving.gateway.answers import Refused, retry_after
from serving.gateway.limits import GatewayLimits
from serving.gateway.relay import ClientGone


class Intake:
    """Reads the bodies of one gateway's requests."""

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self._reading: set[asyncio.Timeout] = set()
        self._closing = False

    async def read(self, request: web.BaseRequest) -> bytes:
        """The whole body, as the client encoded it.

        Raises: Refused (408, 413, 400, or 503 when the server goes down), ClientGone.
        """
        length, content = request.content_length, request.content
        if length is not None and length <= self._limits.max_body_bytes and content.is_eof():
            # The usual case: the body came with the head, so there is nothing to wait for.
            return content.read_nowait()
        timer: asyncio.Timeout | None = None
        try:
            async with asyncio.timeout(self._limits.body_s) as timer:
                self._reading.add(timer)
                return await read_body(request, self._limits.max_body_bytes)
        except TimeoutError as error:
            if self._closing:
                again = retry_after(self._limits.retry_after_s)
                raise Refused(
                    503, "the server is shutting down", code="shutting_down", headers=again, hang_up=True
                ) from error
            message = f"the request body was not complete after {self._limits.body_s:g} s"
            raise Refused(408, message, code="timeout", kind="timeout", hang_up=True) from error
        finally:
            if timer is not None:
                self._reading.discard(timer)

    def end_all(self) -> None:
        """Let every body that is still coming in be refused, because the server is shutting down."""
        self._closing = True
        now = asyncio.get_running_loop().time()
        for timer in self._reading:
            if not timer.expired():
                timer.reschedule(now)


async def read_body(request: web.BaseRequest, max_bytes: int) -> bytes:
    """The whole body, as the client encoded it.

    Raises: Refused (413) as soon as the body is known to be too long, Refused (400) if its framing is
    broken, ClientGone.
    """
    too_long = Refused(413, f"the request body is longer than {max_bytes} bytes", code="request_too_large")
    if (request.content_length or 0) > max_bytes:
        raise too_long
    chunks: list[bytes] = []
    size = 0
    try:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # The answer's head is still to come, but aiohttp takes any output for a begun answer.
            request.writer.output_size = 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > max_bytes:
                raise too_long
            chunks.append(chunk)
    except web.RequestPayloadError as error:
        raise Refused(400, "the request body is not valid HTTP", code="invalid_body") from error
    except ConnectionError as error:
        raise ClientGone from error
    return b"".join(chunks)
