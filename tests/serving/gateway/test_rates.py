"""Token buckets, with a clock of the test's own."""

from __future__ import annotations

import random

import pytest

from serving.gateway.rates import Bucket, Limited, Rates


def ask(rates: Rates, now_s: float, *, requests: int | None = None, tokens: int | None = None,
        estimate: float = 0.0, key_id: str = "k") -> Limited | None:  # fmt: skip
    return rates.admit(key_id, requests=requests, tokens=tokens, estimate=estimate, now_s=now_s)


def test_a_minutes_worth_may_come_at_once_and_then_one_by_one() -> None:
    rates = Rates()
    assert [ask(rates, 0.0, requests=3) for _ in range(3)] == [None] * 3
    # 3 a minute is one every 20 s.
    assert ask(rates, 0.0, requests=3) == Limited("requests", 3, pytest.approx(20.0))
    assert ask(rates, 19.0, requests=3) == Limited("requests", 3, pytest.approx(1.0))
    assert ask(rates, 20.0, requests=3) is None
    assert ask(rates, 20.0, requests=3) is not None


def test_whoever_waits_as_long_as_told_is_let_in() -> None:
    dice, now, rates = random.Random(7), 1e6, Rates()
    for _ in range(2000):
        estimate = dice.randrange(2000)
        over = ask(rates, now, tokens=1000, estimate=estimate)
        if over:
            now += over.wait_s
            assert ask(rates, now, tokens=1000, estimate=estimate) is None
        now += dice.random()


def test_no_window_of_a_minute_gets_more_than_two_minutes_worth() -> None:
    dice, now, rates = random.Random(3), 0.0, Rates()
    let_in: list[float] = []
    while now < 600:
        now += dice.expovariate(5)
        if ask(rates, now, requests=30) is None:
            let_in.append(now)
    windows = [sum(start <= at < start + 60 for at in let_in) for start in let_in]
    assert max(windows) <= 60
    # In the long run it is the rate: a full bucket at the start, then 30 a minute.
    assert 30 + 30 * 9 <= len(let_in) <= 30 + 30 * 10


def test_a_request_over_one_rate_takes_nothing_of_the_other() -> None:
    rates = Rates()
    assert ask(rates, 0.0, requests=2, tokens=10, estimate=10) is None
    for _ in range(5):
        over = ask(rates, 0.0, requests=2, tokens=10, estimate=5)
        assert over is not None
        assert over.unit == "tokens"
    assert ask(rates, 30.0, requests=2, tokens=10, estimate=5) is None


def test_tokens_used_beyond_the_estimate_are_waited_for() -> None:
    rates = Rates()
    assert ask(rates, 0.0, tokens=60, estimate=10) is None
    rates.settle("k", estimate=10, used=90)
    # 60 - 90 = -30: at one a second, 31 s to the next token.
    over = ask(rates, 0.0, tokens=60, estimate=1)
    assert over == Limited("tokens", 60, pytest.approx(31.0))


def test_tokens_not_used_are_given_back_but_never_more_than_a_minutes_worth() -> None:
    rates = Rates()
    assert ask(rates, 0.0, tokens=60, estimate=60) is None
    rates.settle("k", estimate=60, used=0)
    rates.settle("k", estimate=60, used=0)
    assert ask(rates, 0.0, tokens=60, estimate=60) is None
    assert ask(rates, 0.0, tokens=60, estimate=1) is not None


def test_a_request_larger_than_the_bucket_waits_for_a_full_one_and_not_for_ever() -> None:
    rates = Rates()
    assert ask(rates, 0.0, tokens=60, estimate=1) is None
    assert ask(rates, 0.0, tokens=60, estimate=1000) == Limited("tokens", 60, pytest.approx(1.0))
    assert ask(rates, 1.0, tokens=60, estimate=1000) is None


def test_callers_do_not_share_a_bucket() -> None:
    rates = Rates()
    assert ask(rates, 0.0, requests=1, key_id="a") is None
    assert ask(rates, 0.0, requests=1, key_id="a") is not None
    assert ask(rates, 0.0, requests=1, key_id="b") is None


def test_a_changed_rate_keeps_what_was_used() -> None:
    rates = Rates()
    assert [ask(rates, 0.0, requests=10) for _ in range(9)] == [None] * 9
    assert ask(rates, 0.0, requests=5) is not None
    assert ask(rates, 0.0, requests=100) is None


def test_without_a_rate_there_is_no_limit() -> None:
    rates = Rates()
    assert all(ask(rates, 0.0, estimate=1e9) is None for _ in range(100))


def test_a_key_that_is_gone_is_forgotten_with_its_debt() -> None:
    rates = Rates()
    assert ask(rates, 0.0, requests=1) is None
    rates.keep(frozenset({"other"}))
    assert ask(rates, 0.0, requests=1) is None
    rates.settle("unknown", estimate=1, used=2)


def test_a_clock_that_steps_back_gives_nothing() -> None:
    bucket = Bucket.full(60, 100.0)
    bucket.take(60)
    assert bucket.wait_s(1, 50.0) == pytest.approx(1.0)
    assert bucket.wait_s(1, 100.5) == pytest.approx(0.5)
