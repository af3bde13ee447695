"""Servers of known capacity: a trial meets the objectives below it, and near it only by chance."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from loadgen.search import Finished, Outcome, Probe, Settings, Trial, next_step

BOUNDS = Settings(start=1.0, lowest=0.1, highest=1000.0)


def searched(server: Callable[[float], Outcome], settings: Settings = BOUNDS) -> tuple[Finished, list[Trial]]:
    trials: list[Trial] = []
    while True:
        step = next_step(trials, settings)
        if isinstance(step, Finished):
            return step, trials
        trials.append(Trial(step.value, server(step.value)))


def exact(capacity: float) -> Callable[[float], Outcome]:
    return lambda value: "met" if value <= capacity else "missed"


def noisy(capacity: float, *, width: float, seed: int) -> Callable[[float], Outcome]:
    """Every trial has a capacity of its own, normally spread by `width` of the true one."""
    rng = random.Random(seed)
    return lambda value: "met" if value <= capacity * rng.gauss(1, width) else "missed"


@pytest.mark.parametrize("capacity", [0.13, 0.9, 1.0, 3.7, 64.0, 640.0])
def test_the_capacity_of_an_exact_server_is_bracketed_within_the_precision(capacity: float) -> None:
    found, _ = searched(exact(capacity))

    assert found.ended == "found"
    assert found.met is not None
    assert found.missed is not None
    assert found.met <= capacity < found.missed
    assert found.missed / found.met <= 1.1 + 0.01  # three digits


def test_it_doubles_bisects_and_confirms_in_this_order() -> None:
    steps: list[tuple[str, float]] = []
    trials: list[Trial] = []
    while isinstance(step := next_step(trials, BOUNDS), Probe):
        steps.append((step.why, step.value))
        trials.append(Trial(step.value, exact(5.0)(step.value)))

    assert [why for why, _ in steps[:5]] == ["first load", "double", "double", "double", "bisect"]
    assert [value for _, value in steps[:5]] == [1.0, 2.0, 4.0, 8.0, 5.66]
    assert [why for why, _ in steps[-2:]] == ["confirm", "confirm"]
    assert len(trials) <= 10


def test_a_first_load_that_is_too_much_is_halved() -> None:
    found, trials = searched(exact(0.4))

    assert [trial.value for trial in trials[:3]] == [1.0, 0.5, 0.25]
    assert found.met is not None
    assert 0.36 <= found.met <= 0.4


@pytest.mark.parametrize("seed", range(30))
def test_noise_of_5_percent_moves_the_answer_by_little(seed: int) -> None:
    found, trials = searched(noisy(10.0, width=0.05, seed=seed))

    assert found.ended == "found"
    assert found.met is not None
    assert 8.0 <= found.met <= 11.5
    assert len(trials) <= 30


def test_one_false_miss_does_not_decide() -> None:
    seen: list[float] = []

    def server(value: float) -> Outcome:
        seen.append(value)
        return "missed" if value == 4.0 and seen.count(4.0) == 1 else exact(10.0)(value)

    found, _ = searched(server)

    assert found.met is not None
    assert found.met > 9.0


def test_one_false_hit_does_not_decide() -> None:
    seen: list[float] = []

    def server(value: float) -> Outcome:
        seen.append(value)
        return "met" if value == 16.0 and seen.count(16.0) == 1 else exact(10.0)(value)

    found, _ = searched(server)

    assert found.met is not None
    assert found.met <= 10.0


def test_both_ends_of_the_answer_were_tried_as_often_as_asked_for() -> None:
    found, trials = searched(exact(10.0), Settings(start=1, lowest=0.1, highest=1000, agreeing=3))

    for end, outcome in ((found.met, "met"), (found.missed, "missed")):
        assert [trial.outcome for trial in trials if trial.value == end] == [outcome] * 3


def test_users_are_whole_numbers_and_bracketed_by_one() -> None:
    found, trials = searched(exact(6.5), Settings(start=1, lowest=1, highest=512, whole=True, precision=0.01))

    assert (found.met, found.missed) == (6.0, 7.0)
    assert all(trial.value == int(trial.value) for trial in trials)


def test_a_server_that_meets_all_ends_at_the_highest_load_and_says_so() -> None:
    found, _ = searched(exact(1e9), Settings(start=1, lowest=1, highest=100))

    assert found == Finished("above highest", 100.0, None)


def test_a_server_that_meets_nothing_ends_at_the_lowest_load_and_says_so() -> None:
    found, trials = searched(exact(0.0), Settings(start=4, lowest=1, highest=100))

    assert found == Finished("below lowest", None, 1.0)
    assert [trial.value for trial in trials].count(1.0) == 2


def test_a_load_that_cannot_be_measured_bounds_the_search_from_above() -> None:
    found, trials = searched(lambda value: "invalid" if value > 12 else "met")

    assert found.ended == "not measurable"
    assert found.met is not None
    assert 10.5 <= found.met <= 12
    assert [trial.value for trial in trials if trial.value == 16.0] == [16.0, 16.0]


def test_one_trial_that_gave_no_measurement_is_done_again() -> None:
    done = [Trial(1.0, "met"), Trial(2.0, "invalid")]

    assert next_step(done, BOUNDS) == Probe(2.0, "it was not measured yet")


def test_two_trials_that_do_not_agree_are_decided_by_a_third() -> None:
    done = [Trial(1.0, "met"), Trial(1.0, "missed")]

    assert next_step(done, BOUNDS) == Probe(1.0, "its trials do not agree")


def test_the_trials_are_bounded() -> None:
    found, trials = searched(exact(7.0), Settings(start=1, lowest=0.1, highest=1000, most_trials=5))

    assert (found.ended, len(trials)) == ("out of trials", 5)


def test_the_next_step_follows_from_the_trials_alone() -> None:
    _, trials = searched(noisy(10.0, width=0.05, seed=3))

    for done in range(len(trials)):
        step = next_step(trials[:done], BOUNDS)
        assert isinstance(step, Probe)
        assert step.value == trials[done].value
