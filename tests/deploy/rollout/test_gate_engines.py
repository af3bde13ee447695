"""The canary's engines among themselves: one bad one of several is caught, and named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.canaries import EARLY, asked, evidence, seconds, side

from deploy.rollout.evidence import Side
from deploy.rollout.finding import Asked
from deploy.rollout.gate import judge
from deploy.rollout.gate_engines import engines
from deploy.rollout.plan import Plan, Step

A, B, C = "http://a", "http://b", "http://c"
OK, FAILED = "/v1/completions|ok", "/v1/completions|upstream_error"


def engine(
    url: str, n: int = 500, *, failed: int = 0, tries: int = 0, ttft_s: float = 0.2, tpot_s: float = 0.03
) -> Side:
    """One that answered so many requests in a window, all alike but for what is told."""
    return Side(
        revision=url, requests={OK: n - failed, FAILED: failed}, failed_tries=tries,
        first_byte=seconds(0, n * 0.5, n * 0.5, 0, 0, mean=ttft_s),
        tpot=seconds(n * 0.9, n * 0.1, 0, 0, 0, mean=tpot_s),
    )  # fmt: skip


def with_engines(*found: Side, parts: int = 10) -> Asked:
    """A revision of these engines, in so many parts that are all like the whole."""
    whole = side(2000, engines={one.revision: one for one in found})
    return asked(evidence(whole, parts=((whole, side(2000, revision="old")),) * parts), look=EARLY)


def test_engines_that_are_alike_do_not_stand_out() -> None:
    found = engines(with_engines(engine(A), engine(B, failed=3)))
    assert (found.answer, found.why) == ("PASS", "none of its 2 engines stands out")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (engine(B, failed=50), f"{B} failed 50 of 500 requests, the others 0 of 500"),
        (engine(B, tries=60), f"{B} failed 60 of 560 tries, the others 0 of 500"),
        (
            engine(B, ttft_s=0.4),
            f"{B} took 2 times the others' time to the first byte: 0.4 s, 0.2 s",
        ),
        (engine(B, tpot_s=0.045), f"{B} took 1.5 times the others' time for a token: 0.045 s, 0.03 s"),
    ],
    ids=["fails", "tries", "first-byte", "token"],
)
def test_one_of_two_that_is_worse_is_named(bad: Side, why: str) -> None:
    found = engines(with_engines(engine(A), bad))
    assert (found.answer, found.why) == ("FAIL", why)


def test_a_bad_one_among_many_is_found_that_the_whole_would_thin_out() -> None:
    # 4 % of one of eight engines' requests are half a percent of all, a quarter of the gate.
    many = [engine(f"http://{at}", 2000) for at in range(7)]
    found = engines(with_engines(*many, engine(B, 2000, failed=80)))
    assert (found.answer, found.why) == ("FAIL", f"{B} failed 80 of 2000 requests, the others 0 of 14000")


def test_a_slower_one_by_less_than_the_gate_is_let_be_for_engines_are_not_dealt_requests_by_chance() -> None:
    assert engines(with_engines(engine(A), engine(B, ttft_s=0.25))).answer == "PASS"


def test_few_requests_are_not_certain_enough() -> None:
    assert engines(with_engines(engine(A, 10), engine(B, 10, failed=4))).answer == "PASS"


def test_without_others_there_is_nothing_to_judge() -> None:
    assert engines(with_engines(engine(A))).answer == "NOT JUDGED"
    assert engines(with_engines()).answer == "NOT JUDGED"


def test_an_engine_that_had_nothing_in_a_part_of_the_window_breaks_nothing() -> None:
    both, one = (
        side(100, engines={e.revision: e for e in found}) for found in ((engine(A), engine(B)), (engine(A),))
    )
    old = side(100, revision="old")
    found = engines(asked(evidence(both, parts=((one, old), (both, old), (both, old))), look=EARLY))
    assert found.answer == "PASS"


def test_at_the_last_step_engines_are_still_judged_at_the_same_time() -> None:
    told = with_engines(engine(A), engine(B, failed=50), engine(C))
    alone = replace(told, evidence=replace(told.evidence, concurrent=False, baseline=None))
    assert engines(alone).why == f"{B} failed 50 of 500 requests, the others 0 of 1000"


def test_what_fails_the_whole_says_what_each_engine_did() -> None:
    plan = Plan(
        deployment="d", canary="new", baseline="old", file="/f", strategy="canary", steps=(Step(1.0, 60.0),)
    )
    bad = side(
        2000, requests={OK: 1700, FAILED: 300},
        engines={A: engine(A, 1000, failed=290), B: engine(B, 1000, failed=10)},
    )  # fmt: skip
    judgement = judge(evidence(bad), plan, EARLY)
    assert judgement.findings["errors"].why.endswith(
        "; of its engines http://a 290 of 1000, http://b 10 of 1000"
    )
    assert judgement.findings["engines"].answer == "FAIL"
