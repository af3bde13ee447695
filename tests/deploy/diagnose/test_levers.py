"""Levers: their order, and gains worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.diagnose.evidence import Evidence, Speculated
from deploy.diagnose.levers import LEVERS, elsewhere, ranked
from deploy.diagnose.rules import Bound

ENGINE = Evidence(source="engine", seconds=60, requests=100, cache_config={"cache_dtype": "auto"})
# The guide's own table (facts/study.md), row by row: the levers that it names for what binds.
GUIDE = {
    Bound.PREFILL: {"prefix-cache", "chunked-prefill", "replicas", "disaggregated"},
    Bound.DECODE: {"weights", "speculation", "tensor"},
    Bound.KV_CAPACITY: {"kv-dtype", "weights", "max-model-len", "tensor"},
}


def ids(bound: Bound, evidence: Evidence = ENGINE) -> list[str]:
    return [each.lever.id for each in ranked(bound, evidence)]


@pytest.mark.parametrize("bound", GUIDE)
def test_the_levers_of_the_guides_table_are_offered(bound: Bound) -> None:
    assert GUIDE[bound] <= set(ids(bound))


def test_scaling_out_comes_after_what_needs_no_device() -> None:
    assert ids(Bound.KV_CAPACITY)[0] == "kv-dtype"
    assert ids(Bound.KV_CAPACITY)[-1] == "replicas"
    assert ids(Bound.PREFILL).index("replicas") > ids(Bound.PREFILL).index("chunked-prefill")


def test_a_lever_that_is_pulled_already_comes_last_with_the_reason() -> None:
    evidence = replace(ENGINE, cache_config={"cache_dtype": "fp8"})
    last = ranked(Bound.KV_CAPACITY, evidence)[-1]
    assert last.lever.id == "kv-dtype"
    assert last.why_not_first == "the KV cache is fp8 already"
    assert last.gain is None


def test_speculation_is_not_advised_before_its_acceptance_is_known() -> None:
    last = ranked(Bound.DECODE, ENGINE)[-1]
    assert last.lever.id == "speculation"
    assert "its acceptance is not measured" in (last.why_not_first or "")


def test_a_measured_acceptance_bounds_the_gain_of_speculation() -> None:
    speculated = Speculated(drafts=50, drafted=100, accepted=60, positions=(0.8, 0.4))
    by_id = {r.lever.id: r for r in ranked(Bound.DECODE, replace(ENGINE, speculated=speculated))}
    gain = by_id["speculation"].gain
    assert gain is not None
    assert (gain.low, gain.high) == (1.0, 2.2)


def test_halved_weights_gain_by_the_bytes_of_a_step() -> None:
    # 16 GB of weights, and 8 GB of KV cache read in a step: 24 / 16 = 1.5.
    evidence = replace(
        ENGINE, weight_bytes=16_000_000_000, kv_bytes_per_token=100_000, kv_usage_max_ratio=0.5,
        cache_config={"kv_cache_size_tokens": "160000"},
    )  # fmt: skip
    gain = {r.lever.id: r for r in ranked(Bound.DECODE, evidence)}["weights"].gain
    assert gain is not None
    assert gain.high == pytest.approx(1.5)


def test_without_the_queue_ttft_is_what_is_left() -> None:
    gain = ranked(Bound.SEATS, replace(ENGINE, ttft_s=1.0, queue_s=0.8))[0].gain
    assert gain is not None
    assert gain.high == pytest.approx(5.0)


def test_only_the_first_needs_no_reason_why_it_is_not() -> None:
    for bound in Bound:
        found = ranked(bound, ENGINE)
        assert all(each.why_not_first for each in found[1:])


def test_each_lever_is_either_offered_or_said_to_act_elsewhere() -> None:
    for bound in Bound:
        offered = set(ids(bound))
        assert offered | {lever.id for lever, _ in elsewhere(bound)} == {lever.id for lever in LEVERS}
        assert offered.isdisjoint(lever.id for lever, _ in elsewhere(bound))
