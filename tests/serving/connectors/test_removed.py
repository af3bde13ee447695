"""Words of KV transfer that no longer do."""

from __future__ import annotations

from serving.connectors.removed import misplaced_key, removed_connector


def test_connectors_that_are_gone_name_their_heir() -> None:
    assert "NixlConnector" in (removed_connector("P2pNcclConnector") or "")
    assert "ExampleConnector" in (removed_connector("SharedStorageConnector") or "")
    assert removed_connector("NixlConnector") is None


def test_keys_of_the_json_say_where_they_went() -> None:
    assert misplaced_key("kv_rank").startswith("leave it out")
    assert misplaced_key("kv_connector_extra_config") == "it is called extra here"
    assert misplaced_key("extra") is None
