"""Words of KV transfer that a deployment file cannot use, and what stands in their place.

Owns: which of them teapot decides itself, and the search among those that vLLM has taken away. Knows nothing
about where they were said: vLLM's own removals are in the facts.
"""

from __future__ import annotations

from collections.abc import Mapping

from serving.facts.load_flags import removed_names

_SECTION = "kv_transfer_config."
OURS: Mapping[str, str] = {
    "kv_connector": "it is called kind here",
    "kv_role": "leave it out: teapot knows which engine prefills and which decodes",
    "kv_port": "leave it out: teapot gives every engine a port of its own",
    "kv_buffer_device": "leave it out: it is the engine's device",
    "kv_load_failure_policy": "it is called load_failure here",
    "kv_connector_extra_config": "it is called extra here",
}
"""Keys of --kv-transfer-config that exist and are said otherwise in a deployment file."""


def removed_connector(name: str) -> str | None:
    """What to use in place of a connector that vLLM no longer has; None where it lost none of that name."""
    return _gone("connector").get(name)


def misplaced_key(key: str) -> str | None:
    """What to do about a key of --kv-transfer-config in a connector's section; None where it is not one."""
    return _gone("key").get(_SECTION + key) or OURS.get(key)


def _gone(what: str) -> dict[str, str]:
    return {row.name: row.instead for row in removed_names() if row.of == what}
