"""Shares of requests: what fails, what passes, and what is not sure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.canaries import EARLY, asked, evidence, side

from deploy.rollout.evidence import Side
from deploy.rollout.gate_shares import aborts, errors, failed_tries, finish_reasons, missed

PATH = "/v1/chat/completions"


def ended(n: int, **outcomes: int) -> Side:
    given = {f"{PATH}|{outcome}": float(count) for outcome, count in outcomes.items()}
    return side(n, requests={f"{PATH}|ok": float(n - sum(outcomes.values())), **given})


def test_as_many_errors_as_the_baseline_pass() -> None:
    found = errors(asked(evidence()))
    assert found.answer == "PASS"
    assert found.why.startswith("0.1 % of 2000 requests failed, 0.1 % of 2000 of the baseline's; at most ")
    assert (found.numbers["hits"], found.numbers["baseline_n"], found.numbers["limit"]) == (2, 2000, 0.02)


@pytest.mark.parametrize("outcome", ["upstream_error", "timeout", "error"])
def test_two_errors_in_a_hundred_fail(outcome: str) -> None:
    found = errors(asked(evidence(ended(2000, **{outcome: 42}))))
    assert found.answer == "FAIL"
    assert "2.1 % of 2000 requests failed" in found.why


def test_refusals_and_clients_that_left_are_no_errors() -> None:
    assert errors(asked(evidence(ended(2000, rejected=300, client_gone=300)))).answer == "PASS"


def test_everything_failing_fails_within_a_handful_of_requests() -> None:
    assert errors(asked(evidence(ended(5, timeout=5)), EARLY)).answer == "FAIL"
    assert errors(asked(evidence(ended(1, timeout=1)), EARLY)).answer == "INCONCLUSIVE"


def test_one_error_more_is_neither_a_failure_nor_sure_to_be_none() -> None:
    found = errors(asked(evidence(ended(300, timeout=1))))
    assert found.answer == "INCONCLUSIVE"
    assert found.numbers["difference_at_most"] == pytest.approx(0.0236, abs=0.003)


def test_nothing_passes_before_the_bake_is_over() -> None:
    found = errors(asked(evidence(), EARLY))
    assert (found.answer, found.why.rpartition("; ")[2]) == ("INCONCLUSIVE", "too early to pass")


def test_clients_that_leave_fail_it_although_every_answer_was_fine() -> None:
    found = aborts(asked(evidence(ended(2000, client_gone=120))))
    assert found.answer == "FAIL"
    assert found.why.startswith(
        "6 % of 2000 requests were left by their client, 1 % of 2000 of the baseline's"
    )


def test_a_difference_that_is_sure_and_does_not_matter_passes() -> None:
    """0.3 % against 0.1 % of 100,000: certain, and far below a gate of 2 %."""
    found = errors(asked(evidence(ended(100_000, timeout=300), side(100_000, revision="old"))))
    assert found.numbers["p"] is not None
    assert found.numbers["p"] < 1e-20
    assert found.answer == "PASS"


def test_tries_that_others_made_good_fail_it() -> None:
    assert failed_tries(asked(evidence(side(2000, failed_tries=100.0)))).answer == "FAIL"
    assert failed_tries(asked(evidence())).answer == "PASS"


def judged(false: int, true: int) -> dict[str, float]:
    return {"ttft|false": false, "ttft|true": true}


def slow(n: int, share: float) -> Side:
    return side(n, judged=judged(round(n * share), round(n * (1 - share))))


def test_an_objective_that_is_missed_more_often_fails() -> None:
    found = missed("ttft")(asked(evidence(slow(2000, 0.15))))
    assert found.answer == "FAIL"
    assert found.why.startswith("15 % of 2000 missed the objective for ttft, 5 % of 2000 of the baseline's")


def test_breaking_a_promise_that_the_baseline_keeps_fails_by_any_sure_excess() -> None:
    """10 % may miss it: 9.5 % of the baseline do, 10.5 % of the canary, of a million each."""
    million = 1_000_000
    found = missed("ttft")(asked(evidence(slow(million, 0.105), slow(million, 0.095))))
    assert found.answer == "FAIL"
    kept = missed("ttft")(asked(evidence(slow(million, 0.095), slow(million, 0.085))))
    assert kept.answer == "PASS"


def test_an_objective_that_both_miss_is_no_fault_of_the_canary() -> None:
    assert missed("ttft")(asked(evidence(slow(2000, 0.5), slow(2000, 0.5)))).answer == "PASS"


def test_without_an_objective_nothing_is_judged() -> None:
    assert missed("tpot")(asked(evidence())).why == "no objective for tpot"
    none = evidence(targets={"e2e": 0.9})
    assert missed("e2e")(asked(none)).answer == "NOT JUDGED"


def test_one_slow_spell_of_its_engines_does_not_fail_a_canary() -> None:
    """All of its slow requests in one of ten parts: by single requests certain, by parts a chance."""
    calm, spell = side(200, judged=judged(10, 190)), side(200, judged=judged(150, 50))
    base = side(200, revision="old", judged=judged(10, 190))
    parts = tuple((spell if k == 3 else calm, base) for k in range(10))
    found = missed("ttft")(asked(evidence(slow(2000, 0.12), slow(2000, 0.05), parts=parts)))
    assert found.numbers["p"] is not None
    assert found.numbers["p"] < 1e-10
    assert found.answer == "INCONCLUSIVE"


def test_without_parts_a_slow_engine_is_neither_failed_nor_passed() -> None:
    assert missed("ttft")(asked(evidence(slow(2000, 0.3), parts=()))).answer == "INCONCLUSIVE"
    assert missed("ttft")(asked(evidence(parts=()))).answer == "INCONCLUSIVE"


def test_without_a_baseline_at_the_same_time_the_promise_counts() -> None:
    """10 % may miss it, and 5 % did before: 9 % pass, 20 % fail."""
    alone = {"concurrent": False}
    assert missed("ttft")(asked(evidence(slow(2000, 0.09), **alone))).answer == "PASS"
    assert missed("ttft")(asked(evidence(slow(2000, 0.20), **alone))).answer == "FAIL"


def test_without_a_baseline_at_the_same_time_errors_are_held_against_before() -> None:
    assert errors(asked(evidence(ended(2000, timeout=3), concurrent=False))).answer == "PASS"
    assert errors(asked(evidence(ended(2000, timeout=60), concurrent=False))).answer == "FAIL"


def test_where_hardly_anything_is_known_of_before_errors_are_held_against_none_at_all() -> None:
    for before in (None, side(20, revision="old", requests={f"{PATH}|timeout": 20.0})):
        alone = replace(evidence(), baseline=before, concurrent=False)
        assert errors(asked(alone)).answer == "PASS"
        assert errors(asked(replace(alone, canary=ended(2000, timeout=60)))).answer == "FAIL"
        assert failed_tries(asked(replace(alone, canary=side(2000, failed_tries=100.0)))).answer == "FAIL"
        slower = replace(evidence(slow(2000, 0.2), concurrent=False), baseline=before)
        assert missed("ttft")(asked(slower)).answer == "FAIL"


def test_where_hardly_anything_is_known_of_before_habits_of_clients_are_not_judged() -> None:
    for before in (None, side(20, revision="old")):
        alone = asked(replace(evidence(), baseline=before, concurrent=False))
        assert aborts(alone).answer == "NOT JUDGED"
        assert finish_reasons(alone).answer == "NOT JUDGED"


@pytest.mark.parametrize(
    ("finished", "answer"),
    [
        ({"stop": 1400.0, "length": 600.0}, "PASS"),
        ({"stop": 1000.0, "length": 1000.0}, "FAIL"),
        ({"stop": 1800.0, "length": 200.0}, "FAIL"),
        ({"stop": 1200.0, "length": 500.0, "repetition": 300.0}, "FAIL"),
        ({"stop": 1400.0, "length": 600.0, "abort": 900.0}, "PASS"),
        ({}, "INCONCLUSIVE"),
        ({"abort": 50.0}, "INCONCLUSIVE"),
    ],
)
def test_answers_that_end_for_other_reasons_fail_in_either_direction(
    finished: dict[str, float], answer: str
) -> None:
    assert finish_reasons(asked(evidence(side(2000, finished=finished)))).answer == answer


def test_engines_whose_metrics_are_away_are_no_pass_though_the_gateways_are_there() -> None:
    both = side(2000, finished={}), side(2000, finished={})
    found = finish_reasons(asked(evidence(*both)))
    assert (found.answer, found.why) == (
        "INCONCLUSIVE",
        "it answered requests, and its engines tell nothing of them",
    )


def test_embeddings_end_for_no_reason() -> None:
    both = side(2000, finished={}, requests={"/v1/embeddings|ok": 2000.0}), side(2000, finished={})
    assert finish_reasons(asked(evidence(*both))).answer == "NOT JUDGED"


def test_without_answers_there_are_no_reasons() -> None:
    assert finish_reasons(asked(evidence(side(0, finished={}), side(0, finished={})))).answer == "NOT JUDGED"
