"""The KV connectors that move a cache between engines: one file each, registered here.

A new connector is a file with one subclass of `Connector`, and one line in `CONNECTORS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from serving.connectors.connector import Connector
from serving.connectors.example import Example
from serving.connectors.lmcache import LmCache
from serving.connectors.mooncake import Mooncake
from serving.connectors.nixl import Nixl
from serving.connectors.nixl_push import NixlPush
from serving.connectors.offloading import Offloading

CONNECTORS: Mapping[str, Connector] = {
    connector.kind: connector
    for connector in (Nixl(), NixlPush(), LmCache(), Mooncake(), Offloading(), Example())
}
"""All connectors by the `kind` of the deployment file."""
