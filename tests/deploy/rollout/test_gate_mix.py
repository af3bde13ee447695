"""Before anything is compared: enough requests, and of the same kinds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.canaries import asked, evidence, side, tokens

from deploy.rollout.gate_mix import differs, mix, requests


@pytest.mark.parametrize(("n", "answer"), [(599, "INCONCLUSIVE"), (600, "PASS"), (0, "INCONCLUSIVE")])
def test_a_step_needs_its_requests(n: int, answer: str) -> None:
    found = requests(asked(evidence(side(n))))
    assert (found.answer, found.numbers["n"]) == (answer, n)


def test_how_long_it_will_take_is_told_in_time_to_change_the_step() -> None:
    """37 requests in ten minutes: 563 more take 9,130 s."""
    assert requests(asked(evidence(side(37)))).why == (
        "37 requests of 600 that are needed; at this rate the rest takes 2 h 32 min"
    )
    assert requests(asked(evidence(side(0)))).why == "0 requests of 600 that are needed"


def test_a_baseline_without_requests_is_no_comparison() -> None:
    alone = evidence(baseline=side(0, revision="old"))
    assert requests(asked(alone)).answer == "INCONCLUSIVE"
    assert requests(asked(replace(alone, concurrent=False))).answer == "PASS"


def test_requests_of_the_same_kinds_can_be_compared() -> None:
    found = mix(asked(evidence(baseline=side(100_000, revision="old"))))
    assert found.answer == "PASS"
    assert not differs(found)


@pytest.mark.parametrize("which", ["prompt_tokens", "asked_tokens"])
def test_other_lengths_on_one_side_cannot(which: str) -> None:
    longer = tokens(0, 600, 1400, 0, mean=500)
    found = mix(asked(evidence(side(2000, **{which: longer}))))
    assert found.answer == "INCONCLUSIVE"
    assert found.numbers["distance"] == pytest.approx(0.2)
    assert differs(found)


def test_other_paths_on_one_side_cannot() -> None:
    some = {"/v1/embeddings|ok": 400.0, "/v1/chat/completions|ok": 1600.0}
    found = mix(asked(evidence(side(2000, requests=some))))
    assert found.answer == "INCONCLUSIVE"
    assert found.why.startswith("its paths differ from the baseline's (distance 0.2)")


def test_a_difference_that_so_few_requests_can_have_by_chance_is_none() -> None:
    """0.2 apart, and by Smirnov's limit 40 and 2,000 requests can be 0.31 apart with 0.1 %."""
    few = tokens(0, 12, 28, 0, mean=500)
    assert mix(asked(evidence(side(40, prompt_tokens=few)))).answer == "PASS"


def test_how_long_answers_are_is_not_what_clients_sent() -> None:
    assert mix(asked(evidence(side(2000, answer_tokens=tokens(2000, 0, 0, 0, mean=5))))).answer == "PASS"


def test_a_mix_that_changed_since_before_is_nobodys_fault() -> None:
    longer = tokens(0, 600, 1400, 0, mean=500)
    found = mix(asked(evidence(side(2000, prompt_tokens=longer), concurrent=False)))
    assert found.answer == "NOT JUDGED"
    assert differs(found)


def test_no_requests_have_no_mix() -> None:
    assert mix(asked(evidence(side(0)))).answer == "INCONCLUSIVE"
    assert mix(asked(replace(evidence(), baseline=None))).answer == "NOT JUDGED"


def test_lengths_that_one_side_tells_by_other_buckets_are_passed_over() -> None:
    other = replace(tokens(1, 1, 1, 1, mean=9), bounds=(1.0, 2.0, 3.0, 4.0))
    assert mix(asked(evidence(side(2000, prompt_tokens=other, asked_tokens=None)))).answer == "PASS"
