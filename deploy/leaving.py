"""How a gateway leaves: not ready, still taking, finishing, and what is said of each.

Owns: that order. Knows nothing about engines.
"""

from __future__ import annotations

from serving.config.schema import GatewaySection
from serving.config.units import format_duration
from serving.console import Console
from serving.gateway.server import Gateway


async def leave(gateway: Gateway, section: GatewaySection, console: Console) -> None:
    """Withdraw the gateway, and let requests in flight finish within the file's `drain_timeout`."""
    drain_s = section.drain_timeout
    if section.grace > 0 and gateway.state.phase == "ready":
        grace = format_duration(section.grace)
        console.say(f"not ready any more; requests are still taken for {grace}")
    await gateway.withdraw()
    if gateway.state.in_flight:
        in_flight = gateway.state.in_flight
        console.say(f"finishing {in_flight} requests (up to {format_duration(drain_s)})")
    cut = await gateway.drain(drain_s)
    if cut:
        console.say(f"{cut} requests did not finish in time and were ended with an error")
