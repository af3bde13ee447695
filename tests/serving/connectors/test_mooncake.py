"""Mooncake."""

from __future__ import annotations

from serving.connectors import CONNECTORS
from serving.connectors.connector import Leg

MOONCAKE = CONNECTORS["mooncake"]


def test_its_bootstrap_port_is_the_engines_side_channel() -> None:
    leg = Leg(device="cuda", role="prefill", side_channel_port=8998)
    assert MOONCAKE.environment(leg) == {"VLLM_MOONCAKE_BOOTSTRAP_PORT": "8998"}
    assert MOONCAKE.environment(Leg(device="cuda", role="decode")) == {}


def test_a_protocol_that_it_has_not_is_refused() -> None:
    [(what, fix)] = MOONCAKE.problems({"mooncake_protocol": "udp"})
    assert (what, fix) == ("mooncake_protocol 'udp' is not known", "use one of rdma, tcp")
    assert list(MOONCAKE.problems({"mooncake_protocol": "rdma"})) == []
