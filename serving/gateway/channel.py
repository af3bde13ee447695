"""Objects between the gateway's processes, over a socket pair that only they have.

Owns: the frames: four bytes of length, then a pickle. Knows nothing about what is said. Pickles are safe here
as both ends are this program; nothing from outside ever gets into one but as text.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
from contextlib import suppress
from typing import Any, Self

_LENGTH_BYTES = 4


class Channel:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Self:
        """Speak over a connected socket, which is closed with the channel."""
        return cls(*await asyncio.open_connection(sock=end))

    def send(self, message: Any) -> None:
        """Send an object; to a process that is gone, nothing happens."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        if not self._writer.is_closing():
            self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)

    async def receive(self) -> Any:
        """The next object. Raises: EOFError when the other process is gone."""
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            return pickle.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise EOFError("the other process is gone") from error

    async def close(self) -> None:
        """Send what is left, and close."""
        self._writer.close()
        with suppress(ConnectionError):  # The other process may have gone first.
            await self._writer.wait_closed()
