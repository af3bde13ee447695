"""Offloading."""

from __future__ import annotations

import pytest

from serving.connectors import CONNECTORS
from serving.connectors.connector import Leg

OFFLOADING = CONNECTORS["offloading"]


def test_its_size_is_needed_in_bytes() -> None:
    assert [what for what, _ in OFFLOADING.problems({})] == [
        "connector offloading needs extra.cpu_bytes_to_use"
    ]
    assert list(OFFLOADING.problems({"cpu_bytes_to_use": 1024**3})) == []


@pytest.mark.parametrize("size", [0, -1, "10GiB", True])
def test_a_size_that_is_no_count_of_bytes_is_refused(size: object) -> None:
    [(what, _)] = OFFLOADING.problems({"cpu_bytes_to_use": size})
    assert what == f"cpu_bytes_to_use is {size!r}"


def test_one_engine_stores_and_loads() -> None:
    assert OFFLOADING.config(Leg(device="cuda", role="prefill"), {}, None)["kv_role"] == "kv_both"
