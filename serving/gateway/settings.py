"""How the edge is set up, as the deployment file says it.

Owns: the way from the file's gateway section to values the edge works with. Knows nothing about the edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from serving.config.schema import Deployment, GatewaySection
from serving.gateway.limits import GatewayLimits
from serving.gateway.objectives import Objectives


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of the public address's certificate chain and its private key."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Tracing:
    """Where spans go, and the share of requests without a traced parent that get one."""

    endpoint: str
    ratio: float


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """The edge of one gateway. The defaults ask for no key and limit nothing."""

    keys_file: Path | None = None
    max_in_flight: int | None = None
    queue: int = 1024
    queue_timeout_s: float = 30.0
    aliases: Mapping[str, str] = field(default_factory=dict)
    cors_origins: frozenset[str] = frozenset()
    tls: TlsFiles | None = None
    tracing: Tracing | None = None
    access_log: bool = False
    grace_s: float = 0.0
    workers: int = 1


def edge_settings(section: GatewaySection, beside: Path) -> EdgeSettings:
    """The settings of a deployment file that lies in the folder `beside`."""
    tls, tracing = section.tls, section.tracing
    return EdgeSettings(
        keys_file=None if section.keys_file is None else beside / section.keys_file,
        max_in_flight=section.max_in_flight,
        queue=section.queue,
        queue_timeout_s=section.queue_timeout,
        aliases=dict(section.aliases),
        cors_origins=frozenset(section.cors_origins),
        tls=None if tls is None else TlsFiles(beside / tls.cert, beside / tls.key),
        tracing=None if tracing is None else Tracing(tracing.endpoint, tracing.ratio),
        access_log=section.access_log,
        grace_s=section.grace,
        workers=section.workers,
    )


def gateway_limits(section: GatewaySection) -> GatewayLimits:
    """The limits of one request that a deployment file sets."""
    waits = section.timeouts
    return GatewayLimits(
        max_body_bytes=section.max_body,
        connect_s=waits.connect,
        first_byte_s=waits.first_token,
        between_bytes_s=waits.between_tokens,
        total_s=waits.total,
    )


def objectives(deployment: Deployment) -> Objectives:
    """What the deployment promises for each request."""
    slo = deployment.slo
    return Objectives(
        ttft_s=slo.ttft,
        tpot_s=slo.tpot,
        e2e_s=slo.e2e,
        latency_target_ratio=slo.target,
        availability_target_ratio=slo.availability,
    )
