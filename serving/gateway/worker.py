"""A worker process: the public address and nothing else, as its parent tells it over a channel.

Owns: the process's life, and its reports. Knows nothing about engines, the admin address or other workers.
It ends when its parent does: the channel closes. Signals are the parent's to decide about.

    python -m serving.gateway.worker FD
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

from serving.gateway import loop
from serving.gateway.channel import Channel
from serving.gateway.messages import Finish, Finished, Serving, Stop
from serving.gateway.mirror import Report, Snapshot, put
from serving.gateway.outcome import Outcome
from serving.gateway.public import Public
from serving.gateway.state import GatewayState

REPORT_EVERY_S = 0.02


class Reporter:
    """Collects what ends, and tells the parent what is new, at most every `REPORT_EVERY_S`."""

    def __init__(self, state: GatewayState, channel: Channel, gap_bounds_ns: tuple[int, ...]) -> None:
        self.gap_bounds_ns = gap_bounds_ns
        self.public: Public | None = None
        self._state = state
        self._channel = channel
        self._ended: list[Outcome] = []
        self._last: Report | None = None

    def observe(self, outcome: Outcome) -> None:
        """Note a request that has ended."""
        self._ended.append(outcome)

    def report(self) -> None:
        """Send what is new, if anything is."""
        waiting = self.public.waiting if self.public else 0
        busy = tuple((b.url, b.in_flight) for b in self._state.backends if b.in_flight)
        now = Report(self._state.in_flight, waiting, busy, tuple(self._ended))
        if now != self._last:
            self._channel.send(now)
            self._ended.clear()
            self._last = Report(now.in_flight, now.waiting, now.backends, ())

    async def keep_reporting(self) -> None:
        """Report until cancelled."""
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            self.report()


async def work(channel: Channel) -> None:
    """Serve until told to stop, or until the parent is gone."""
    orders = await channel.receive()
    state = GatewayState(orders.name)
    put(orders.snapshot, state)
    reporter = Reporter(state, channel, orders.gap_bounds_ns)
    public = reporter.public = Public(state, reporter, orders.limits, orders.settings, orders.routing)
    await public.serve([socket.socket(fileno=number) for number in orders.listeners])
    channel.send(Serving())
    reporting = asyncio.create_task(reporter.keep_reporting())
    finishing: set[asyncio.Task[None]] = set()

    async def finish(timeout_s: float) -> None:
        left = await public.finish(timeout_s)
        reporter.report()
        channel.send(Finished(left))

    try:
        while not isinstance(message := await channel.receive(), Stop):
            if isinstance(message, Snapshot):
                put(message, state)
            elif isinstance(message, Finish):
                finishing.add(asyncio.create_task(finish(message.timeout_s)))
    except EOFError:
        state.phase = "draining"
        await public.finish(0)  # The parent is gone, and the engines with it.
    finally:
        reporting.cancel()
        state.phase = "stopped"
        await public.stop()
        reporter.report()
        await channel.close()


def main() -> None:
    """Run as a child of the gateway; the argument is the channel's file descriptor."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)

    async def run() -> None:
        await work(await Channel.over(socket.socket(fileno=int(sys.argv[1]))))

    loop.run(run())


if __name__ == "__main__":
    main()
