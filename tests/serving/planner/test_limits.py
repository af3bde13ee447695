"""What binds a plan, and which of it keeps an engine from starting."""

from __future__ import annotations

import pytest
from fakes.planning import plan, shape

from serving.planner.ask import Lengths

GIB = 1024**3


def names(found, *, blocking: bool) -> list[str]:
    return [limit.name for limit in found.limits if limit.blocks == blocking]


def test_a_plan_with_room_has_no_limits() -> None:
    assert plan().limits == ()


def test_requests_that_are_longer_than_the_limit_do_not_fit() -> None:
    found = plan(max_model_len=2048, lengths=Lengths(1500, 500, 2000, 2500))
    assert names(found, blocking=True) == ["max_model_len"]
    assert "requests of 2,500 tokens (p95)" in found.limits[0].what
    assert plan(max_model_len=2500, lengths=Lengths(1500, 500, 2000, 2500)).fits


def test_a_given_cache_that_leaves_no_room_for_the_overheads_is_warned_of_and_not_refused() -> None:
    """79.19 GiB less 14.96 of weights less 62 of cache leave 2.2, and 3.2 are expected to be needed."""
    tight = plan(kv_cache_bytes=62 * GIB)
    assert tight.fits
    assert names(tight, blocking=False) == ["margin"]
    assert "leaves 2.23 GiB a device" in tight.limits[0].what
    assert plan(kv_cache_bytes=60 * GIB).limits == ()


def test_on_a_cpu_what_a_given_cache_leaves_is_not_judged() -> None:
    small = shape("Qwen/Qwen3-0.6B")
    found = plan(small, device="cpu", gpu=None, memory_bytes=4 * GIB, kv_cache_bytes=2 * GIB)
    assert names(found, blocking=False) == []


@pytest.mark.parametrize(("users", "blocks"), [(54, []), (55, ["kv_cache"])])
def test_the_users_asked_for_must_be_held(users: int, blocks: list[str]) -> None:
    assert names(plan(users=users), blocking=True) == blocks
