"""Routing policies by the name the deployment file gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from serving.gateway.policies.least_in_flight import LeastInFlight
from serving.gateway.policies.policy import Policy
from serving.gateway.policies.prefix_affinity import PrefixAffinity
from serving.gateway.policies.round_robin import RoundRobin
from serving.gateway.policies.session_affinity import SessionAffinity

POLICIES: Mapping[str, Callable[[], Policy]] = {
    "least_in_flight": LeastInFlight,
    "round_robin": RoundRobin,
    "prefix_affinity": PrefixAffinity,
    "session_affinity": SessionAffinity,
}
