"""A runner's listening sockets: taking connections from them, and ending with none forgotten.

Owns: the order of an end. Knows nothing about binding (`sockets`) or about what is served.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable

from aiohttp import web

from serving.gateway.sockets import BACKLOG


class Listener:
    """Serves what a runner holds on sockets that are bound already."""

    def __init__(self, runner: web.BaseRunner) -> None:
        self._runner = runner
        self._sockets: tuple[socket.socket, ...] = ()

    async def start(self, sockets: Iterable[socket.socket], tls: ssl.SSLContext | None = None) -> None:
        """Take connections from these sockets from now on; they are closed by `stop`."""
        self._sockets = tuple(sockets)
        await self._runner.setup()
        for one in self._sockets:
            await web.SockSite(self._runner, one, ssl_context=tls, backlog=BACKLOG).start()

    async def stop(self) -> None:
        """Close the sockets and every connection that came by them.

        asyncio forgets a connection that it took in the turn in which its listener closes: nobody serves it
        and nobody closes it. So no more are taken first, and the last ones get their turn.
        """
        loop = asyncio.get_running_loop()
        for one in self._sockets:
            loop.remove_reader(one)
        await asyncio.sleep(0)
        await self._runner.cleanup()
