"""LMCache: engines share KV blocks through LMCache's storage.

Owns: its configuration. Knows nothing about LMCache's own settings: its environment and its file have those.
"""

from __future__ import annotations

from typing import ClassVar

from serving.connectors.connector import Connector, Role


class LmCache(Connector):
    """LMCache inside the engine."""

    kind: ClassVar[str] = "lmcache"
    name: ClassVar[str] = "LMCacheConnectorV1"
    summary: ClassVar[str] = "engines share blocks through LMCache (settings: LMCACHE_CONFIG_FILE)"
    packages: ClassVar[tuple[str, ...]] = ("lmcache",)
    proven: ClassVar[str] = "not run; read in vLLM 0.32.0"

    def role_of(self, role: Role) -> str:
        """Every engine stores and loads."""
        return "kv_both"
