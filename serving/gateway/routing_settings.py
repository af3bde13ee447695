"""How requests are spread, retried and divided, as the deployment file says it.

Owns: these settings and the way from the file to them. Knows nothing about how they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from serving.config.revisions import weights
from serving.config.schema import Deployment
from serving.connectors.connector import Legs
from serving.connectors.nixl import Nixl
from serving.gateway.disaggregated.machine import OnPrefillFailure
from serving.gateway.elsewhere import Elsewhere, revisions_elsewhere
from serving.modes.disaggregated import Disaggregated

Sticky = Literal["none", "key", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """How requests are spread, retried and divided."""

    policy: str = "least_in_flight"
    sticky: Sticky = "none"
    """Whether a key, or a session, stays with its revision."""
    slow_start_s: float = 10.0
    attempts: int = 3
    """How many backends a request may try."""
    retry_ratio: float = 0.2
    rest_s: float = 1.0
    """How long a backend that could not be reached is left alone."""
    prefill_from_tokens: int = 64
    """Shorter prompts, by an estimate from their size, are prefilled by the decoding engine."""
    prefill_s: float = 60.0
    """How long the prefilling engine may take."""
    on_prefill_failure: OnPrefillFailure = "aggregate"
    legs: Legs | None = Nixl.legs
    """How requests are divided where a revision has engines that prefill; None: they are not."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Each revision's share; none: all the same."""
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """The revisions that others serve, by name."""


def routing_settings(deployment: Deployment, beside: Path = Path()) -> RoutingSettings:
    """The settings of a deployment file that lies in the folder `beside`.

    Requests are divided as its connector's protocol has it.
    """
    section = deployment.gateway.routing
    divided = deployment.mode(Disaggregated)
    return RoutingSettings(
        policy=section.policy,
        sticky=section.sticky,
        slow_start_s=section.slow_start,
        attempts=section.attempts,
        retry_ratio=section.retry_ratio,
        rest_s=section.rest,
        prefill_from_tokens=section.prefill_from_tokens,
        prefill_s=section.prefill_timeout,
        on_prefill_failure=section.on_prefill_failure,
        legs=None if divided is None else divided.connector.connector.legs,
        weights=weights(deployment),
        elsewhere=revisions_elsewhere(deployment, beside),
    )
