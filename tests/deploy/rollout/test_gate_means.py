"""Means: slower by a factor, and longer or shorter answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.canaries import EARLY, asked, evidence, seconds, side, tokens

from deploy.rollout.evidence import Side
from deploy.rollout.gate_means import slower
from deploy.rollout.gate_means import tokens as answer_tokens

ttft = slower("first_byte", lambda of: of.gates.ttft, "s")


def first_byte(mean: float, n: int = 2000) -> Side:
    """The same buckets, another mean: as when all requests move within their buckets."""
    return side(n, first_byte=seconds(n * 0.2, n * 0.5, n * 0.25, n * 0.05, 0, mean=mean))


def test_as_fast_as_the_baseline_passes() -> None:
    found = ttft(asked(evidence()))
    assert found.answer == "PASS"
    assert found.numbers["factor"] == 1.0
    assert found.why.startswith("0.2 s on the mean of 2000, 0.2 of 2000: 1 times the baseline's, 0.9")


def test_slower_by_a_third_within_the_same_buckets_fails_although_no_quantile_moves() -> None:
    found = ttft(asked(evidence(first_byte(0.27))))
    assert found.answer == "FAIL"
    assert found.numbers["factor"] == pytest.approx(1.35)


def test_faster_passes() -> None:
    assert ttft(asked(evidence(first_byte(0.1)))).answer == "PASS"


def test_slower_by_less_than_matters_passes() -> None:
    assert ttft(asked(evidence(first_byte(0.205, 200_000), side(200_000)))).answer == "PASS"


def test_too_few_to_be_sure_is_inconclusive() -> None:
    found = ttft(asked(evidence(first_byte(0.2, 40))))
    assert found.answer == "INCONCLUSIVE"
    assert found.numbers["factor_at_most"] is not None
    assert found.numbers["factor_at_most"] > 1.3


def test_fewer_than_thirty_are_not_believed() -> None:
    found = ttft(asked(evidence(first_byte(9.0, 20))))
    assert (found.answer, found.why) == ("INCONCLUSIVE", "20 and 2000 values; 30 are needed")


def test_nothing_passes_before_the_bake_is_over_but_it_may_fail() -> None:
    assert ttft(asked(evidence(), EARLY)).answer == "INCONCLUSIVE"
    assert ttft(asked(evidence(first_byte(0.4)), EARLY)).answer == "FAIL"


def test_one_slow_spell_of_its_engines_does_not_fail_a_canary() -> None:
    calm, spell = first_byte(0.2, 200), first_byte(0.8, 200)
    parts = tuple((spell if k == 3 else calm, first_byte(0.2, 200)) for k in range(10))
    found = ttft(asked(evidence(first_byte(0.26), parts=parts)))
    assert found.answer == "INCONCLUSIVE"


@pytest.mark.parametrize("parts", [(), ((side(2000), side(2000)),)])
def test_without_parts_nothing_is_said_of_latencies(parts: tuple[tuple[Side, Side], ...]) -> None:
    found = ttft(asked(evidence(first_byte(0.4), parts=parts)))
    assert found.answer == "INCONCLUSIVE"
    assert found.why == "too few looks to tell how much either varies by itself"


def test_a_part_without_requests_leaves_the_rest_to_judge() -> None:
    empty = side(0, first_byte=None)
    parts = (
        *((first_byte(0.2, 200), first_byte(0.2, 200)) for _ in range(10)),
        (empty, first_byte(0.2, 200)),
    )
    assert ttft(asked(evidence(parts=parts))).answer == "PASS"


def test_two_parts_are_too_few_to_be_sure_of_anything() -> None:
    parts = ((first_byte(0.2, 1000), side(1000)), (first_byte(0.25, 1000), side(1000)))
    assert ttft(asked(evidence(first_byte(0.225), parts=parts))).answer == "INCONCLUSIVE"


def test_under_another_load_nothing_is_said_of_latencies() -> None:
    assert ttft(asked(evidence(first_byte(0.9), concurrent=False))).answer == "NOT JUDGED"


def test_where_nobody_streams_there_is_no_time_to_first_byte() -> None:
    neither = side(2000, first_byte=None)
    assert ttft(asked(evidence(neither, neither))).answer == "NOT JUDGED"


def answers(mean: float) -> Side:
    return side(2000, answer_tokens=tokens(200, 1000, 800, 0, mean=mean))


@pytest.mark.parametrize(
    ("mean", "answer"), [(120, "PASS"), (125, "PASS"), (240, "FAIL"), (60, "FAIL"), (150, "INCONCLUSIVE")]
)
def test_answers_that_are_longer_or_shorter_fail(mean: float, answer: str) -> None:
    assert answer_tokens(asked(evidence(answers(mean)))).answer == answer


def test_answers_lengths_are_compared_with_before_too() -> None:
    assert answer_tokens(asked(evidence(answers(240), concurrent=False))).answer == "FAIL"


def test_where_hardly_anything_was_answered_before_lengths_are_not_judged() -> None:
    assert answer_tokens(asked(replace(evidence(), baseline=None))).answer == "NOT JUDGED"
    few = side(20, revision="old")
    found = answer_tokens(asked(evidence(baseline=few, concurrent=False)))
    assert (found.answer, found.why) == (
        "NOT JUDGED",
        "only 20 values of the baseline's before to compare with",
    )
