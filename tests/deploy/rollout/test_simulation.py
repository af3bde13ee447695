"""Rollouts by chance, from fixed seeds: good canaries get through, bad ones do not, each within its step.

How large the two shares are is told in docs/rollout-gates.md, from the marked tests here.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from statistics import fmean, pstdev

import pytest

from deploy.rollout.plan import Plan, Step
from deploy.rollout.simulation import Behaviour, Course, Lognormal, World, poisson, simulate

STEPS = (Step(0.01, 600.0), Step(0.1, 600.0), Step(0.5, 600.0), Step(1.0, 600.0))
PLAN = Plan(
    deployment="demo", canary="new", baseline="old", file="new.yaml", strategy="canary", steps=STEPS,
    look_every_s=60.0,
)  # fmt: skip
GOOD = Behaviour()
BAD = {
    "TTFT 30 % slower": replace(GOOD, ttft_s=GOOD.ttft_s.times(1.3)),
    "TPOT 30 % slower": replace(GOOD, tpot_s=GOOD.tpot_s.times(1.3)),
    "2 % errors": replace(GOOD, errors=GOOD.errors + 0.02),
    "aborts only": replace(GOOD, aborts=GOOD.aborts + 0.05),
    "other finish reasons": replace(GOOD, stopped=GOOD.stopped - 0.2),
    "longer answers": replace(GOOD, answer=GOOD.answer.times(1.5)),
    "tries that others made good": replace(GOOD, failed_tries=0.05),
    "leak": replace(GOOD, leak=0.06),
    "wrong answers": replace(GOOD, quality="fail"),
    "mode not in effect": replace(GOOD, in_effect=False),
    "never ready": replace(GOOD, ready=False),
    "engine crashed": replace(GOOD, failures=1),
    "another mix": replace(GOOD, prompt=GOOD.prompt.times(2)),
}
TOLD = ("another mix",)
"""Not failed, for nothing is known to be wrong, and not passed either."""


def one_step(
    weight: float, bad: Behaviour, requests_per_s: float, seed: int, wait_s: float = 1800.0
) -> Course:
    plan = replace(PLAN, steps=(Step(weight, 600.0),), wait_s=wait_s)
    return simulate(World(bad=bad, requests_per_s=requests_per_s), plan, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_good_canary_is_promoted(seed: int) -> None:
    course = simulate(World(requests_per_s=40.0), PLAN, seed)
    assert (course.end, course.step) == ("promoting", 3)
    assert course.requests >= PLAN.min_requests


@pytest.mark.slow
@pytest.mark.parametrize("fault", BAD)
def test_a_bad_canary_does_not_pass_its_step(fault: str) -> None:
    course = one_step(0.5, BAD[fault], 4.0, seed=1)
    assert course.end == "rolling_back"
    assert course.last is not None
    assert course.last.verdict == ("INCONCLUSIVE" if fault in TOLD else "FAIL")


@pytest.mark.slow
def test_a_canary_that_turns_bad_at_half_of_the_traffic_gets_no_further() -> None:
    world = World(bad=replace(GOOD, failures=1), bad_from=0.5, requests_per_s=40.0)
    course = simulate(world, PLAN, seed=2)
    assert (course.end, course.step) == ("rolling_back", 2)
    assert course.last is not None
    assert course.last.reasons() == ("failures: its engines failed 1 times since they were started",)


@pytest.mark.slow
def test_without_traffic_it_waits_and_goes_back() -> None:
    course = simulate(World(requests_per_s=0.0), PLAN, seed=3)
    assert (course.end, course.step, course.requests) == ("rolling_back", 0, 0)
    assert course.took_s >= 600 + 1800


@pytest.mark.slow
def test_without_traffic_it_asks_where_the_file_says_so() -> None:
    assert simulate(World(requests_per_s=0.0), replace(PLAN, then="ask"), seed=3).end == "asking"


@pytest.mark.slow
def test_a_mix_that_changes_for_both_alike_is_no_fault() -> None:
    """Prompts four times as long from one step to the next: both sides see them."""
    later = replace(GOOD, prompt=GOOD.prompt.times(4))
    world = World(good=later, requests_per_s=40.0)
    assert simulate(world, replace(PLAN, steps=STEPS[2:]), seed=4).end == "promoting"


@pytest.mark.slow
def test_the_same_seed_is_the_same_rollout() -> None:
    first, again = (simulate(World(requests_per_s=40.0), PLAN, seed=5) for _ in range(2))
    assert first == again
    assert simulate(World(requests_per_s=40.0), PLAN, seed=6) != first


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_at_least_95_of_100_good_canaries_are_promoted() -> None:
    ends = Counter(simulate(World(requests_per_s=40.0), PLAN, seed).end for seed in range(200))
    assert ends["promoting"] >= 190, ends


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", BAD)
def test_at_least_99_of_100_bad_canaries_are_caught_within_their_step(fault: str) -> None:
    # A short wait: those that are never failed would take long, and another decision is another chance.
    ends = Counter(one_step(0.5, BAD[fault], 4.0, seed, wait_s=600.0).end for seed in range(200))
    assert ends["rolling_back"] >= 198, ends


@pytest.mark.parametrize("mean", [0.3, 8.0, 400.0])
def test_poisson_numbers_have_their_mean_and_its_root_as_deviation(mean: float) -> None:
    rng = random.Random(7)
    drawn = [poisson(rng, mean) for _ in range(4000)]
    assert fmean(drawn) == pytest.approx(mean, abs=5 * math.sqrt(mean / 4000))
    assert pstdev(drawn) == pytest.approx(math.sqrt(mean), rel=0.06)
    assert poisson(rng, 0.0) == 0


def test_buckets_of_a_lognormal_are_those_of_drawn_numbers() -> None:
    rng = random.Random(8)
    drawn = [rng.lognormvariate(math.log(0.2), 0.6) for _ in range(20_000)]
    bounds = (0.1, 0.2, 0.5, math.inf)
    low = 0.0
    for bound, (share, mean) in zip(bounds, Lognormal(0.2, 0.6).buckets(bounds), strict=True):
        inside = [value for value in drawn if low < value <= bound]
        assert share == pytest.approx(len(inside) / len(drawn), abs=0.015)
        assert mean == pytest.approx(fmean(inside), rel=0.02)
        low = bound
    assert Lognormal(0.2, 0.6).above(0.5) == pytest.approx(
        sum(value > 0.5 for value in drawn) / len(drawn), abs=0.01
    )
