"""Moving a cache against the value worked out by hand."""

from __future__ import annotations

from fakes.planning import cache_of, shape

from serving.planner.kv_layers import kv_bytes
from serving.planner.transfer import kv_transfer


def test_8192_tokens_of_llama_8b_take_21_ms_at_50_gb_per_s() -> None:
    found = kv_transfer(kv_bytes(shape(), cache_of()), 8192, 50e9, prefill_s=0.133)
    assert found.moved_bytes == 1_073_741_824
    assert round(found.seconds * 1e3, 1) == 21.5
    assert round(found.share_of_prefill, 2) == 0.16


def test_without_a_prefill_the_share_is_endless() -> None:
    assert kv_transfer(kv_bytes(shape(), cache_of()), 1, 1e9, prefill_s=0.0).share_of_prefill == float("inf")
