"""The budget for tries at other backends."""

from __future__ import annotations

from serving.gateway.retries import RetryBudget


def test_a_reserve_is_spent_and_then_a_share_of_the_requests() -> None:
    budget = RetryBudget(ratio=0.2, reserve=3, left=3)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    granted = 0
    for _ in range(100):
        budget.request()
        granted += budget.take()
    # A fifth of 100; the sum of tenths of a float may lie just under the last whole one.
    assert granted in (19, 20)


def test_a_long_quiet_time_saves_up_no_more_than_the_reserve() -> None:
    budget = RetryBudget(ratio=1, reserve=2, left=0)
    for _ in range(50):
        budget.request()
    assert [budget.take() for _ in range(3)] == [True, True, False]


def test_no_ratio_is_no_retry_once_the_reserve_is_spent() -> None:
    budget = RetryBudget(ratio=0, left=0)
    budget.request()
    assert not budget.take()
