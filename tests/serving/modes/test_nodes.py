"""What each machine of an engine is told."""

from __future__ import annotations

from serving.modes.nodes import node_flags, nodes


def test_the_first_node_has_the_api_and_the_others_have_none() -> None:
    first, second = nodes(("10.0.0.1", "10.0.0.2"))
    assert (first.rank, first.headless, second.rank, second.headless) == (0, False, 1, True)
    assert ("--headless", None) in second.flags
    assert ("--headless", None) not in first.flags


def test_all_nodes_meet_at_the_first_ones_address() -> None:
    for node in nodes(("10.0.0.1", "10.0.0.2", "10.0.0.3"), 29777):
        assert dict(node.flags)["--master-addr"] == "10.0.0.1"
        assert dict(node.flags)["--master-port"] == "29777"
        assert dict(node.flags)["--nnodes"] == "3"


def test_one_machine_is_told_nothing() -> None:
    assert nodes(("10.0.0.1",))[0].flags == ()
    assert node_flags(1, 0, "10.0.0.1") == ()
