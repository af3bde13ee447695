"""What the gateway and its worker processes say to each other, beside the state and the reports.

Owns: the messages. Knows nothing about how they are sent, or what is done about them. (They are not in
`worker`: there they would be of the module `__main__`, and of another in the parent.)
"""

from __future__ import annotations

from dataclasses import dataclass

from serving.gateway.limits import GatewayLimits
from serving.gateway.mirror import Snapshot
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.settings import EdgeSettings


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told first."""

    name: str
    limits: GatewayLimits
    settings: EdgeSettings
    routing: RoutingSettings | None
    gap_bounds_ns: tuple[int, ...]
    listeners: tuple[int, ...]
    """File descriptors that it has inherited."""
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Finish:
    """Let requests in flight finish within this time; answered by `Finished`."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Finished:
    """How many requests had to be ended with an error."""

    left: int


@dataclass(frozen=True, slots=True)
class Serving:
    """Said once: from now on connections are taken."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Close everything and end."""
