"""The simulated fleet: held against the closed forms, and against courses that can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from serving.planner.fleet import Fleet, size
from serving.planner.fleet_simulation import YEAR_S, live

HOUR, DAY = 3600.0, 86400.0
FLEET = Fleet(peak_per_s=40.0, goodput_per_s=10.0, between_failures_s=60 * HOUR, repair_s=3 * HOUR)
NEVER = replace(FLEET, between_failures_s=1e15)
CASES = {
    "left alone": FLEET,
    "in pairs": replace(FLEET, together=2),
    "rolled out daily": replace(FLEET, rollout_every_s=DAY, restart_s=HOUR),
    "rolled out two at once": replace(FLEET, rollout_every_s=DAY, restart_s=2 * HOUR, at_once=2),
    "rolled out with a surge": replace(FLEET, rollout_every_s=DAY, restart_s=HOUR, surge=True),
    "pairs rolled out by the pair": replace(
        FLEET, together=2, rollout_every_s=DAY, restart_s=HOUR, at_once=2
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_lived_through_is_what_the_closed_forms_say(name: str) -> None:
    fleet, replicas = CASES[name], 6
    said, lives = size(fleet, replicas), [live(fleet, replicas, 3.0, Random(seed)) for seed in range(10)]
    for attribute in ("covered", "shed"):
        seen = [getattr(one, attribute) for one in lives]
        mean = sum(seen) / len(seen)
        error = (sum((x - mean) ** 2 for x in seen) / (len(seen) - 1) / len(seen)) ** 0.5
        # 4.5 standard errors: for fixed seeds it either holds or not, and chance is no excuse.
        assert abs(mean - getattr(said, attribute)) < 4.5 * error + 1e-9, attribute


def test_the_same_seed_lives_the_same_life() -> None:
    assert live(FLEET, 5, 1.0, Random(7)) == live(FLEET, 5, 1.0, Random(7))
    assert live(FLEET, 5, 1.0, Random(7)) != live(FLEET, 5, 1.0, Random(8))


def test_without_failures_only_rollouts_are_short_each_once() -> None:
    # 4 replicas, all needed; one after the other away for an hour: 4 hours a day in one piece.
    fleet = replace(NEVER, rollout_every_s=DAY, restart_s=HOUR)
    lived = live(fleet, 4, 10 * DAY / YEAR_S, Random(1))
    assert lived.covered == pytest.approx(20 / 24)
    assert lived.shed == pytest.approx(4 / 24 / 4)
    assert lived.shortfalls == 10
    assert lived.longest_s == pytest.approx(4 * HOUR)


def test_a_replica_to_spare_rides_through_rollouts() -> None:
    fleet = replace(NEVER, rollout_every_s=DAY, restart_s=HOUR)
    lived = live(fleet, 5, 10 * DAY / YEAR_S, Random(1))
    assert lived.covered == pytest.approx(1.0)
    assert (lived.shortfalls, lived.longest_s) == (0, 0.0)


def test_a_rollout_that_is_not_over_when_the_next_is_due_delays_it() -> None:
    fleet = replace(NEVER, rollout_every_s=HOUR, restart_s=HOUR)
    lived = live(fleet, 4, 10 * DAY / YEAR_S, Random(1))
    assert lived.covered == pytest.approx(0.0, abs=1e-9)


def test_shortfalls_are_as_many_as_failures_where_all_are_needed() -> None:
    # One replica, one needed: it fails every 63 hours on average, and the longest is a repair.
    fleet = replace(FLEET, peak_per_s=10.0)
    lived = live(fleet, 1, 20.0, Random(3))
    expected = 20 * YEAR_S / (63 * HOUR)
    assert abs(lived.shortfalls - expected) < 4 * expected**0.5
    assert 3 * HOUR < lived.longest_s < 60 * HOUR
