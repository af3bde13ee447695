"""Fleet arithmetic against exact fractions, published values of Erlang's C, and properties."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from serving.planner.fleet import (
    Fleet,
    availability,
    candidates,
    mean_wait_s,
    must_wait,
    needed,
    rollout_share,
    size,
    smallest,
)

HOUR, DAY = 3600.0, 86400.0
# 95 h up, 5 h down: up in 19 of 20 hours.
FLEET = Fleet(peak_per_s=30.0, goodput_per_s=10.0, between_failures_s=95 * HOUR, repair_s=5 * HOUR)
UP = Fraction(19, 20)


def enumerated(groups: list[int], wanted: int) -> Fraction:
    """P(at least `wanted` replicas up), over every state of the groups."""
    total = Fraction(0)
    for state in product((True, False), repeat=len(groups)):
        chance = Fraction(1)
        for up in state:
            chance *= UP if up else 1 - UP
        if sum(members for members, up in zip(groups, state, strict=True) if up) >= wanted:
            total += chance
    return total


def test_a_replica_is_up_for_its_share_of_a_cycle() -> None:
    assert availability(FLEET) == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("peak", "goodput", "count"), [(30, 10, 3), (30.1, 10, 4), (0.3, 0.1, 3), (0.1, 9, 1)]
)
def test_needed_is_the_peak_over_the_goodput_rounded_up(peak: float, goodput: float, count: int) -> None:
    assert needed(replace(FLEET, peak_per_s=peak, goodput_per_s=goodput)) == count


@pytest.mark.parametrize("replicas", [2, 3, 4, 5, 8])
def test_covered_is_the_sum_over_all_states(replicas: int) -> None:
    assert size(FLEET, replicas).covered == pytest.approx(float(enumerated([1] * replicas, 3)), abs=1e-12)


@pytest.mark.parametrize("replicas", [4, 6, 8])
def test_replicas_of_one_machine_fail_as_one(replicas: int) -> None:
    pairs = replace(FLEET, together=2)
    assert size(pairs, replicas).covered == pytest.approx(
        float(enumerated([2] * (replicas // 2), 3)), abs=1e-12
    )


def test_a_rollout_takes_one_of_a_pair_and_leaves_the_other() -> None:
    fleet = replace(FLEET, together=2, rollout_every_s=DAY, restart_s=HOUR)
    assert size(fleet, 6).covered_in_rollouts == pytest.approx(float(enumerated([2, 2, 1], 3)), abs=1e-12)


def test_time_in_rollouts_counts_by_its_share() -> None:
    # 4 replicas, 2 at once, an hour each: 2 of every 24 hours with 2 replicas away.
    fleet = replace(FLEET, peak_per_s=20.0, rollout_every_s=DAY, restart_s=HOUR, at_once=2)
    found = size(fleet, 4)
    assert found.in_rollouts == pytest.approx(2 / 24)
    calm, busy = enumerated([1] * 4, 2), enumerated([1] * 2, 2)
    assert found.covered == pytest.approx(float(Fraction(22, 24) * calm + Fraction(2, 24) * busy))


def test_a_surge_keeps_nobody_away() -> None:
    fleet = replace(FLEET, rollout_every_s=DAY, restart_s=HOUR, surge=True)
    assert size(fleet, 4).covered_in_rollouts == pytest.approx(size(FLEET, 4).covered)


def test_rollouts_that_never_end_fill_the_time() -> None:
    assert rollout_share(replace(FLEET, rollout_every_s=DAY, restart_s=DAY), 4) == 1.0


def test_what_is_shed_is_the_mean_of_what_is_missing() -> None:
    # 1 of 1 needed: down in a twentieth of the time, and then everything is beyond it.
    assert size(replace(FLEET, peak_per_s=10.0), 1).shed == pytest.approx(0.05)
    # 2 needed of 2: one is missing in 2 x 0.95 x 0.05, then half is shed; both in 0.05 squared.
    assert size(replace(FLEET, peak_per_s=20.0), 2).shed == pytest.approx(0.095 / 2 + 0.0025)


def test_the_smallest_meets_the_target_also_within_rollouts() -> None:
    fleet = replace(FLEET, rollout_every_s=7 * DAY, restart_s=HOUR)
    found = smallest(fleet, 0.99)
    assert found is not None
    # Exact: of 5, at least 3 up in 0.99884; of 4 in 0.98598; so 5 are needed while one is away: 6.
    assert found.replicas == 6
    assert next(candidates(fleet)).replicas == 3


def test_sizes_come_in_whole_machines() -> None:
    found = smallest(replace(FLEET, together=4), 0.99)
    assert found is not None
    assert found.replicas % 4 == 0


def test_a_fleet_that_is_mostly_broken_has_no_size() -> None:
    assert smallest(replace(FLEET, peak_per_s=10_000 * 10.0, repair_s=1e9), 0.999) is None


def test_more_replicas_never_cover_less_and_failures_never_more() -> None:
    random = Random(11)
    for _ in range(300):
        fleet = replace(
            FLEET, peak_per_s=random.uniform(1, 200), between_failures_s=random.uniform(10, 2000) * HOUR,
            repair_s=random.uniform(0.05, 5) * HOUR, rollout_every_s=random.uniform(0.5, 30) * DAY,
            surge=True, restart_s=60.0,
        )  # fmt: skip
        count = needed(fleet) + random.randrange(7)
        one, next_one = size(fleet, count), size(fleet, count + 1)
        assert 0 <= one.covered <= next_one.covered + 1e-12
        assert next_one.covered <= 1.0
        assert next_one.shed <= one.shed + 1e-12
        assert size(replace(fleet, repair_s=2 * fleet.repair_s), count).covered <= one.covered + 1e-12
        assert size(replace(fleet, surge=False), count).covered <= one.covered + 1e-12


@pytest.mark.parametrize(
    ("servers", "load", "share"),
    [
        (1, 0.5, 0.5),  # M/M/1: the load itself
        (2, 1.0, 1 / 3),  # a^2 / (2 + a) of two servers
        (3, 2.0, 4 / 9),
        (10, 8.0, 0.4092),  # tables of Erlang's C
        (100, 90.0, 0.2169),
    ],
)
def test_erlangs_c_is_that_of_the_tables(servers: int, load: float, share: float) -> None:
    assert must_wait(servers, load) == pytest.approx(share, abs=5e-5)


def test_where_requests_come_faster_than_they_go_all_wait_for_ever() -> None:
    assert must_wait(4, 4.0) == 1.0
    assert mean_wait_s(4, 4.0, 1.0) == float("inf")


def lived_waits(seed: int, rate: float, servers: int, requests: int) -> list[float]:
    """First come, first served; each request takes the server that is free first, for a second on average."""
    random, free, now, waits = Random(seed), [0.0] * servers, 0.0, []
    for _ in range(requests):
        now += random.expovariate(rate)
        server = min(range(servers), key=free.__getitem__)
        start = max(now, free[server])
        free[server] = start + random.expovariate(1.0)
        waits.append(start - now)
    return waits


def test_waiting_is_what_a_queue_that_is_lived_through_shows() -> None:
    waits = [wait for seed in range(4) for wait in lived_waits(seed, 1.8, 3, 50_000)]
    assert must_wait(3, 1.8) == pytest.approx(sum(wait > 0 for wait in waits) / len(waits), abs=0.01)
    assert mean_wait_s(3, 1.8, 1.0) == pytest.approx(sum(waits) / len(waits), rel=0.05)
