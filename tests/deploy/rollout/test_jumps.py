"""A clock that is set is told from time that passes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from deploy.rollout.jumps import Jumps


@dataclass(slots=True)
class Times:
    wall_s: float = 1e6
    steady_s: float = 5.0

    def passes(self, seconds: float) -> None:
        self.wall_s += seconds
        self.steady_s += seconds


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def jumps(times: Times) -> Jumps:
    return Jumps(lambda: times.wall_s, lambda: times.steady_s)


def test_time_that_passes_is_no_jump(times: Times, jumps: Jumps) -> None:
    times.passes(7200.0)
    assert jumps.jump_s(1000.0) is None


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_a_jump_is_told_until_it_is_forgotten(times: Times, jumps: Jumps, by_s: float) -> None:
    times.passes(10.0)
    times.wall_s += by_s
    assert jumps.jump_s(0.0) == pytest.approx(by_s)
    times.passes(10.0)
    assert jumps.jump_s(0.0) == pytest.approx(by_s)
    jumps.forget()
    assert jumps.jump_s(0.0) is None


def test_small_corrections_are_let_be_until_they_add_up(times: Times, jumps: Jumps) -> None:
    times.wall_s += 3.0
    assert jumps.jump_s(0.0) is None
    times.wall_s += 3.0
    assert jumps.jump_s(0.0) == pytest.approx(6.0)


def test_what_another_process_told_and_is_still_to_come_is_a_jump_too(jumps: Jumps) -> None:
    assert jumps.jump_s(1e6 + 3) is None
    assert jumps.jump_s(1e6 + 600) == pytest.approx(-600.0)
