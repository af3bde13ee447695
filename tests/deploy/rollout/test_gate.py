"""All checks together, and when a step is looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.canaries import EARLY, LOOK, evidence, healthy, side, tokens

from deploy.rollout.evidence import Evidence
from deploy.rollout.finding import Verdict
from deploy.rollout.gate import CHECKS, TESTS, Judgement, decisions_s, judge, looks, next_look
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan, Step
from deploy.rollout.statistics import FALSE_ALARM

PLAN = Plan(
    deployment="demo", canary="new", baseline="old", file="new.yaml", strategy="canary",
    steps=(Step(0.1, 600.0), Step(1.0, 600.0)), look_every_s=60.0, wait_s=1800.0, min_requests=600,
)  # fmt: skip
DOCS = (Path(__file__).parents[3] / "docs" / "rollout-gates.md").read_text(encoding="utf-8")
BAKING = State(name="baking", step=0, since_s=990.0, window_s=1000.0)


def verdict(found: Evidence) -> tuple[Verdict, list[str]]:
    judgement = judge(found, PLAN, LOOK)
    return judgement.verdict, [reason.partition(":")[0] for reason in judgement.reasons()]


def test_a_canary_that_is_as_good_passes_with_every_check_told() -> None:
    judgement = judge(evidence(), PLAN, LOOK)
    assert (judgement.verdict, judgement.reasons(), judgement.decided) == ("PASS", (), True)
    assert list(judgement.findings) == [check.name for check in CHECKS]
    assert (judgement.start_s, judgement.end_s) == (1000.0, 1600.0)


def test_one_check_that_fails_is_enough() -> None:
    assert verdict(evidence(health=healthy(failures=1.0, ready=1))) == ("FAIL", ["failures"])


def test_one_check_that_is_not_sure_is_no_pass() -> None:
    judgement = judge(evidence(), replace(PLAN, min_requests=2001), LOOK)
    assert (judgement.verdict, judgement.reasons()) == (
        "INCONCLUSIVE",
        ("requests: 2000 requests of 2001 that are needed; at this rate the rest takes 1 s",),
    )


def test_no_traffic_at_all_is_never_a_pass() -> None:
    nothing = evidence(side(0), side(0, revision="old"), parts=())
    said, reasons = verdict(nothing)
    assert said == "INCONCLUSIVE"
    assert {"requests", "mix"} <= set(reasons)


def test_evidence_in_which_nothing_can_be_judged_is_no_pass() -> None:
    blank = replace(evidence(), health=healthy(modes={}, memory_bytes={}), targets={}, quality=None)
    nothing = replace(blank, canary=side(0, judged={}), baseline=None, concurrent=False)
    assert judge(nothing, replace(PLAN, min_requests=0, quality=False), LOOK).verdict != "PASS"


def test_another_mix_stops_comparisons_and_not_what_is_wrong_by_itself() -> None:
    longer = tokens(0, 600, 1400, 0, mean=500)
    other = evidence(side(2000, prompt_tokens=longer, answer_tokens=tokens(0, 0, 2000, 0, mean=900)))
    assert verdict(other) == ("INCONCLUSIVE", ["mix"])
    assert judge(other, PLAN, LOOK).findings["tokens"].answer == "NOT JUDGED"
    failing = replace(other, health=healthy(failures=2.0))
    assert verdict(failing) == ("FAIL", ["failures"])


def test_without_another_side_a_changed_mix_leaves_promises_to_judge() -> None:
    longer = tokens(0, 600, 1400, 0, mean=500)
    slow = side(2000, prompt_tokens=longer, judged={"ttft|false": 600.0, "ttft|true": 1400.0})
    assert verdict(evidence(slow, concurrent=False)) == ("FAIL", ["missed_ttft"])


def test_without_any_other_side_a_canary_is_judged_by_itself() -> None:
    """As with the strategy replace: nothing was running any more, and before nobody looked."""
    alone = replace(evidence(), baseline=None, concurrent=False)
    assert verdict(alone) == ("PASS", [])
    assert verdict(replace(alone, health=healthy(failures=1.0))) == ("FAIL", ["failures"])
    failing = side(2000, requests={"/v1/completions|ok": 1900.0, "/v1/completions|timeout": 100.0})
    assert verdict(replace(alone, canary=failing)) == ("FAIL", ["errors"])


def test_the_docs_have_a_line_for_every_check() -> None:
    for check in CHECKS:
        assert f"`{check.name}`" in DOCS


def test_the_docs_divide_by_as_many_tests_and_looks_as_there_are() -> None:
    defaults = tuple(Step(weight, 600.0) for weight in (0.01, 0.1, 0.5, 1.0))
    total = sum(looks(replace(PLAN, steps=defaults, look_every_s=30.0), step) for step in range(4))
    assert f"0.05 / ({TESTS} * {total})" in DOCS


def test_an_early_look_can_fail_and_cannot_pass() -> None:
    assert judge(evidence(), PLAN, EARLY).verdict == "INCONCLUSIVE"
    assert judge(evidence(health=healthy(ready=0)), PLAN, EARLY).verdict == "FAIL"
    assert judge(evidence(), PLAN, EARLY).decided is False


def test_a_look_without_enough_requests_spends_nothing() -> None:
    assert judge(evidence(side(599)), PLAN, LOOK).decided is False


def test_a_judgement_is_told_as_json_with_each_checks_numbers() -> None:
    told = judge(evidence(), PLAN, LOOK).to_json()
    assert told["window_s"] == [1000.0, 1600.0]
    assert (told["verdict"], told["decided"]) == ("PASS", True)
    assert told["checks"]["requests"] == {
        "answer": "PASS",
        "why": "2000 requests, 600 are needed",
        "numbers": {"n": 2000.0, "min_requests": 600.0, "baseline_n": 2000.0},
    }


def test_a_pass_that_came_too_early_says_so() -> None:
    assert Judgement("INCONCLUSIVE", {}, 0.0, 1.0, False).reasons() == ("it is too early to pass",)


def test_a_step_is_looked_at_until_the_end_of_its_wait() -> None:
    """(600 + 1800) / 60 looks, and one at the beginning."""
    assert looks(PLAN, 0) == 41
    assert decisions_s(PLAN, 0, 1000.0) == (1600.0, 2200.0, 2800.0, 3400.0)


@pytest.mark.parametrize(
    ("last_s", "now_s", "due", "may_pass"),
    [
        (None, 999.0, False, False),
        (None, 1000.0, True, False),
        (1000.0, 1059.0, False, False),
        (1000.0, 1060.0, True, False),
        (1580.0, 1600.0, True, True),
        (1600.0, 1660.0, True, False),
        (1600.0, 2300.0, True, True),
        (3390.0, 3400.0, True, True),
    ],
)
def test_looks_come_at_their_times_and_pass_only_at_decisions(
    last_s: float | None, now_s: float, due: bool, may_pass: bool
) -> None:
    look = next_look(BAKING, PLAN, last_s=last_s, decided=0, now_s=now_s)
    assert (look is not None) == due
    assert (look is not None and look.pass_tail is not None) == may_pass


def test_all_tests_of_all_looks_of_all_steps_share_the_chance_of_a_false_alarm() -> None:
    look = next_look(BAKING, PLAN, last_s=None, decided=0, now_s=1000.0)
    assert look is not None
    assert look.fail_tail * TESTS * 82 == pytest.approx(FALSE_ALARM)


def test_each_decision_that_had_enough_requests_halves_what_the_next_may_leave_to_chance() -> None:
    tails = [
        look.pass_tail
        for decided in (0, 1, 2)
        if (look := next_look(BAKING, PLAN, last_s=1590.0, decided=decided, now_s=1600.0)) is not None
    ]
    assert tails == [0.005, 0.0025, 0.00125]


@pytest.mark.parametrize("state", [State(), State(name="moving", step=0), State(name="baking", step=0)])
def test_without_a_window_there_is_no_look(state: State) -> None:
    assert next_look(state, PLAN, last_s=None, decided=0, now_s=1e9) is None
