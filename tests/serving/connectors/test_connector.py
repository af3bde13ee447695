"""What every connector tells, and the JSON of --kv-transfer-config."""

from __future__ import annotations

import pytest

from serving.connectors import CONNECTORS
from serving.connectors.connector import Connector, Leg
from serving.facts.load_flags import engine_flags


@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda c: c.kind)
def test_every_connector_says_what_it_is_and_what_was_tried(connector: Connector) -> None:
    assert connector.summary
    assert connector.proven
    assert connector.works_on


@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda c: c.kind)
def test_every_connector_is_one_of_each_version(connector: Connector) -> None:
    for version, known in engine_flags().items():
        assert connector.name in known.words["kv_connector"], version


def test_only_the_asked_for_keys_are_in_the_json() -> None:
    config = CONNECTORS["mooncake"].config(Leg(device="cuda", role="prefill"), {}, None)
    assert config == {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}


def test_settings_and_the_failure_policy_go_by_vllms_names() -> None:
    config = CONNECTORS["mooncake"].config(
        Leg(device="cuda", role="decode"), {"mooncake_protocol": "tcp"}, "recompute"
    )
    assert config == {
        "kv_connector": "MooncakeConnector",
        "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"mooncake_protocol": "tcp"},
        "kv_load_failure_policy": "recompute",
    }


def test_a_missing_setting_is_told_with_an_example() -> None:
    [(what, fix)] = CONNECTORS["example"].problems({})
    assert what == "connector example needs extra.shared_storage_path"
    assert fix.startswith("write extra: {shared_storage_path: ")
