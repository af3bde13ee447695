"""LMCache."""

from __future__ import annotations

from serving.connectors import CONNECTORS
from serving.connectors.connector import Leg


def test_every_engine_stores_and_loads() -> None:
    config = CONNECTORS["lmcache"].config(Leg(device="cuda", role="prefill"), {}, None)
    assert config == {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
