"""Tails of latencies: what fails, and what people are told beside."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.canaries import asked, evidence, seconds, side

from deploy.rollout.gate_tails import tail


def test_the_tail_is_judged_at_the_bound_that_a_twentieth_is_slower_than() -> None:
    found = tail("first_byte")(asked(evidence()))
    assert found.answer == "PASS"
    assert found.why.startswith("5 % of 2000 took over 0.5 s, 5 % of 2000 of the baseline's")
    assert found.numbers["baseline_p95_s"] == 0.5


def test_a_longer_tail_fails_although_the_mean_is_the_same() -> None:
    longer = seconds(800, 800, 0, 400, 0, mean=0.2)
    found = tail("first_byte")(asked(evidence(side(2000, first_byte=longer))))
    assert found.answer == "FAIL"
    assert found.why.startswith("20 % of 2000 took over 0.5 s")


@pytest.mark.parametrize(
    ("mine", "theirs", "answer"),
    [(None, None, "NOT JUDGED"), (None, 1, "INCONCLUSIVE"), (1, None, "INCONCLUSIVE")],
)
def test_a_tail_that_nobody_told_of_is_not_judged(mine: int | None, theirs: int | None, answer: str) -> None:
    told = seconds(1, 1, 1, 1, 1, mean=1)
    sides = [side(2000, tpot=told if which else None) for which in (mine, theirs)]
    assert tail("tpot")(asked(evidence(*sides, parts=()))).answer == answer


def test_a_tail_needs_a_baseline_at_the_same_time() -> None:
    assert tail("tpot")(asked(evidence(concurrent=False))).answer == "NOT JUDGED"


def test_without_any_other_side_there_is_no_tail_to_compare() -> None:
    assert tail("tpot")(asked(replace(evidence(), baseline=None))).answer == "NOT JUDGED"


def test_both_p95s_and_their_ratio_are_told_with_an_interval() -> None:
    """Even over (0, 1]: p95 is 0.95, Woodruff's limits of 2,000 are 0.95 -+ 1.96 sqrt(0.95 0.05 / 2000)."""
    even = seconds(200, 200, 600, 1000, 0, mean=0.5)
    found = tail("first_byte")(asked(evidence(side(2000, first_byte=even), side(2000, first_byte=even))))
    assert found.numbers["p95_s"] == pytest.approx(0.95)
    assert found.numbers["p95_factor"] == 1.0
    # Of equal sides Zou and Donner's limits are a factor of exp(hypot(ln of both halves)).
    assert found.numbers["p95_factor_at_most"] == pytest.approx(1.0143213, abs=1e-6)
    assert found.numbers["p95_factor_at_least"] == pytest.approx(1 / 1.0143213, abs=1e-6)
    assert "; p95 0.95 s, 1 times the baseline's (0.986 to 1.01)" in found.why


def test_a_p95_of_too_few_has_no_interval() -> None:
    few = seconds(10, 10, 10, 10, 0, mean=0.4)
    found = tail("first_byte")(asked(evidence(side(2000, first_byte=few))))
    assert "p95_factor" not in found.numbers
