"""Offloading: an engine's KV blocks that leave its device's memory stay in the machine's.

Owns: its configuration. Knows nothing about other engines: it moves nothing between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from serving.connectors.connector import Connector, Role


class Offloading(Connector):
    """A second tier of one engine's own cache."""

    kind: ClassVar[str] = "offloading"
    name: ClassVar[str] = "OffloadingConnector"
    summary: ClassVar[str] = "blocks that leave the GPU stay in the machine's memory (one engine's own)"
    required: ClassVar[Mapping[str, str]] = {"cpu_bytes_to_use": "10737418240"}
    between_engines: ClassVar[bool] = False
    proven: ClassVar[str] = "not run; read in vLLM 0.32.0 v1/kv_offload/cpu/spec.py"

    def role_of(self, role: Role) -> str:
        """One engine stores and loads."""
        return "kv_both"

    def problems(self, extra: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Without its size vLLM stops at start; both ways of saying a chunk exclude each other."""
        yield from super().problems(extra)
        size = extra.get("cpu_bytes_to_use")
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size <= 0):
            yield f"cpu_bytes_to_use is {size!r}", "give bytes as a whole number above 0"
