"""A gateway in a process of its own, so that its memory is its own and can be watched.

Owns: starting it in front of some engines with short time limits, and reading it from outside. Knows nothing
about what is sent to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.raw_http import ask, get

_PROGRAM = """
import asyncio, sys
from serving.gateway import loop
from serving.gateway.backends import Backend
from serving.gateway.limits import GatewayLimits
from serving.gateway.server import Gateway
async def main():
    limits = GatewayLimits(first_byte_s=5, between_bytes_s=0.3, body_s=5, farewell_s=1)
    gateway = Gateway("storm", limits)
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    for url in sys.argv[1:]:
        gateway.add(Backend(url, state="ready"))
    gateway.open(())
    print(gateway.public_url, gateway.admin_url, flush=True)
    await asyncio.Event().wait()
loop.run(main())
"""


@dataclass(frozen=True, slots=True)
class GatewayProcess:
    """A running gateway."""

    pid: int
    public_url: str
    admin_url: str

    def rss_bytes(self) -> int:
        """Its resident memory."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def files(self) -> int:
        """How many files and sockets it has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    async def samples(self, name: str) -> dict[str, float]:
        """The samples of a metric, by their labels as text."""
        request = get("/metrics").replace(b"Host: x", b"Host: 127.0.0.1")
        text = (await ask(self.admin_url, request)).body.decode()
        rows = (line.rpartition(" ") for line in text.splitlines() if line.startswith(name))
        return {series.removeprefix(name): float(value) for series, _, value in rows}


@asynccontextmanager
async def gateway_process(engines: Sequence[str]) -> AsyncIterator[GatewayProcess]:
    """Run one in front of these engines for the length of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, *engines, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        public_url, admin_url = (await process.stdout.readline()).decode().split()
        yield GatewayProcess(process.pid, public_url, admin_url)
    finally:
        process.kill()
        await process.wait()
