"""vLLM's own example: KV blocks go through files in a shared folder. For trying things, not for serving.

Owns: its configuration. Knows nothing about the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from serving.connectors.connector import Connector


class Example(Connector):
    """Files in a folder, once called SharedStorageConnector."""

    kind: ClassVar[str] = "example"
    name: ClassVar[str] = "ExampleConnector"
    summary: ClassVar[str] = "blocks go through files in a shared folder: for trying, not for serving"
    required: ClassVar[Mapping[str, str]] = {"shared_storage_path": "/var/lib/kv"}
    proven: ClassVar[str] = "not run; read in vLLM 0.32.0"
