"""NIXL, pushing: the prefilling engine writes the KV cache into the decoding engine's memory.

Owns: its configuration. Knows nothing about the legs, which differ from pulling and are not walked yet.
"""

from __future__ import annotations

from typing import ClassVar

from serving.connectors.connector import Legs
from serving.connectors.nixl import Nixl


class NixlPush(Nixl):
    """Push by NIXL over UCX."""

    kind: ClassVar[str] = "nixl_push"
    name: ClassVar[str] = "NixlPushConnector"
    summary: ClassVar[str] = "the prefilling engine pushes blocks to the decoding one, by NIXL over UCX"
    works_on: ClassVar[tuple[str, ...]] = ("cuda", "rocm")
    sleeps: ClassVar[bool] = False
    legs: ClassVar[Legs | None] = None
    proven: ClassVar[str] = "not run; read in vLLM 0.32.0"
