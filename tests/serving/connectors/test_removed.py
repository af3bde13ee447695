"""Words of KV transfer that no longer do."""

from __future__ import annotations

from serving.connectors.removed import misplaced_key, removed_connector, removed_variables


def test_connectors_that_are_gone_name_their_heir() -> None:
    assert "NixlConnector" in removed_connector("P2pNcclConnector")
    assert "ExampleConnector" in removed_connector("SharedStorageConnector")
    assert removed_connector("NixlConnector") is None


def test_keys_of_the_json_say_where_they_went() -> None:
    assert misplaced_key("kv_rank").startswith("leave it out")
    assert misplaced_key("kv_connector_extra_config") == "it is called extra here"
    assert misplaced_key("extra") is None


def test_the_abort_time_out_of_nixl_is_a_lease_now() -> None:
    assert "lease" in removed_variables()["VLLM_NIXL_ABORT_REQUEST_TIMEOUT"]
