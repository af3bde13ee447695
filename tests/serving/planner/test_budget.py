"""The budget of a device against the published record, and by hand."""

from __future__ import annotations

import pytest
from fakes.planning import golden, shape

from serving.facts.load import overheads
from serving.planner.budget import Demand, given_budget, gpu_budget

GIB = 1024**3
RECORD = next(row for row in golden()["vllm_capacity"] if row["id"] == "h100-0.19-llama31-8b-bf16")


def demand(**changes: int) -> Demand:
    base = {"weight_bytes": 2 * shape().parameters, "vocab": 128256, "max_num_seqs": 1024}
    base |= {"max_num_batched_tokens": 8192, "activation_bytes_per_token": 0, "ranks": 1}
    return Demand(**{**base, **changes})


def test_the_published_record_is_met_within_its_band() -> None:
    found = gpu_budget(
        round(RECORD["total_gib"] * GIB), demand(), overheads(), version="0.19", utilization=RECORD["util"]
    )
    assert found.low_bytes <= RECORD["kv_gib"] * GIB <= found.high_bytes
    assert found.kv_bytes / GIB == pytest.approx(RECORD["kv_gib"], rel=0.01)
    assert found.peak_bytes / GIB == pytest.approx(RECORD["activation_gib"], rel=0.1)
    assert found.non_torch_bytes / GIB == pytest.approx(RECORD["non_torch_gib"], rel=0.1)


@pytest.mark.parametrize(("version", "gib"), [("0.15.1", 5.64), ("0.16", 5.64), ("0.17.0", 2.23)])
def test_the_peak_depends_on_the_version(version: str, gib: float) -> None:
    # Qwen3-14B, published logs: 5.64 GiB in 0.15 and 0.16, 2.23 GiB from 0.17.
    found = gpu_budget(80 * GIB, demand(vocab=151936), overheads(), version=version, utilization=None)
    assert found.peak_bytes / GIB == pytest.approx(gib, rel=0.05)


def test_the_parts_add_up_to_what_was_requested() -> None:
    found = gpu_budget(80 * GIB, demand(), overheads(), version="0.33.0", utilization=0.9)
    assert found.requested_bytes == 72 * GIB
    assert found.weight_bytes + found.overhead_bytes + found.kv_bytes == found.requested_bytes


def test_what_is_missing_is_told_and_nothing_is_left() -> None:
    found = gpu_budget(8 * GIB, demand(), overheads(), version="0.33.0", utilization=0.9)
    assert found.kv_bytes == found.low_bytes == 0
    assert found.weight_bytes + found.overhead_bytes == found.requested_bytes + found.missing_bytes


def test_graphs_count_from_the_version_on_that_counts_them() -> None:
    counted = [
        gpu_budget(80 * GIB, demand(), overheads(), version=version, utilization=None).graphs_bytes > 0
        for version in ("0.20.2", "0.21.0", "0.33.0")
    ]
    assert counted == [False, True, True]


def test_a_given_cache_is_taken_as_given() -> None:
    found = given_budget(4 * GIB, demand(weight_bytes=3 * GIB), 2 * GIB)
    assert (found.kv_bytes, found.low_bytes, found.missing_bytes) == (2 * GIB, 2 * GIB, GIB)
