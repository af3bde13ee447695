"""Ctrl-C and SIGTERM for commands that run things: an event in a loop, an exception outside one.

Owns: which exit code a signal means. Knows nothing about what is being stopped.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from serving.errors import EXIT_SIGINT, EXIT_SIGTERM, Interrupted

EXIT_CODES = {signal.SIGINT: EXIT_SIGINT, signal.SIGTERM: EXIT_SIGTERM}


class StopSignal:
    """The first SIGINT or SIGTERM that reaches a running loop; later ones change nothing."""

    def __init__(self) -> None:
        self._seen = asyncio.Event()
        self.exit_code = 0
        loop = asyncio.get_running_loop()
        for number in EXIT_CODES:
            loop.add_signal_handler(number, self._stop, number)

    def _stop(self, number: signal.Signals) -> None:
        if not self._seen.is_set():
            self.exit_code = EXIT_CODES[number]
            self._seen.set()

    async def wait(self) -> int:
        """Wait for the signal and return the exit code it means."""
        await self._seen.wait()
        return self.exit_code


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise `Interrupted` in the block, as Ctrl-C raises, so that work is cleaned up."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Interrupted(exit_code=EXIT_SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
