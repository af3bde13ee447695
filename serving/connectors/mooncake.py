"""Mooncake: KV blocks go from engine to engine by Mooncake's transfer engine.

Owns: its configuration. Knows nothing about its store, nor about the legs, which are not walked yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from serving.connectors.connector import Connector, Leg

PROTOCOLS = ("rdma", "tcp")


class Mooncake(Connector):
    """Mooncake's transfer engine."""

    kind: ClassVar[str] = "mooncake"
    name: ClassVar[str] = "MooncakeConnector"
    summary: ClassVar[str] = (
        "blocks go from engine to engine by Mooncake (extra: mooncake_protocol, device_name)"
    )
    packages: ClassVar[tuple[str, ...]] = ("mooncake-transfer-engine",)
    proven: ClassVar[str] = "not run; read in vLLM 0.32.0"

    def environment(self, leg: Leg) -> dict[str, str]:
        """The port at which the prefilling engine tells where its blocks are."""
        if leg.side_channel_port is None:
            return {}
        return {"VLLM_MOONCAKE_BOOTSTRAP_PORT": str(leg.side_channel_port)}

    def problems(self, extra: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """A protocol that Mooncake does not have."""
        yield from super().problems(extra)
        protocol = extra.get("mooncake_protocol")
        if protocol is not None and protocol not in PROTOCOLS:
            yield f"mooncake_protocol {protocol!r} is not known", f"use one of {', '.join(PROTOCOLS)}"
