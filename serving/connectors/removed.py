"""What vLLM has taken away around KV transfer, and what stands in its place.

Owns: those words with their replacement. Knows nothing about where they were said.
"""

from __future__ import annotations

from collections.abc import Mapping

CONNECTORS: Mapping[str, str] = {
    "P2pNcclConnector": "use kind: nixl, which moves blocks from engine to engine",
    "PyNcclConnector": "use kind: nixl, which moves blocks from engine to engine",
    "SharedStorageConnector": "it is called ExampleConnector now: use kind: example",
}
FIELDS: Mapping[str, str] = {
    "kv_rank": "engines are no longer numbered: leave it out, the connector finds its peer",
    "kv_parallel_size": "any number of engines may take part: leave it out",
    "kv_ip": "leave it out: the side channel's address is the engine's, set by teapot",
    "kv_port": "leave it out: teapot gives every engine a port of its own",
    "kv_role": "leave it out: teapot knows which engine prefills and which decodes",
    "kv_buffer_device": "leave it out: it is the engine's device",
    "kv_load_failure_policy": "it is called load_failure here",
    "kv_connector_extra_config": "it is called extra here",
}
"""Keys of --kv-transfer-config: gone from vLLM (the first three), or decided by teapot."""
VARIABLES: Mapping[str, str] = {
    "VLLM_NIXL_ABORT_REQUEST_TIMEOUT": (
        "blocks are held by a lease with heartbeats now: unset it, and for another length of the lease set "
        "the connector's extra: {kv_lease_duration: 30}"
    ),
}
