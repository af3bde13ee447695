"""NIXL, pushing."""

from __future__ import annotations

from serving.connectors import CONNECTORS
from serving.connectors.connector import Leg


def test_it_is_nixl_by_another_class_and_its_legs_are_not_walked() -> None:
    push = CONNECTORS["nixl_push"]
    assert push.config(Leg(device="cuda", role="any"), {}, None)["kv_connector"] == "NixlPushConnector"
    assert push.legs is None
