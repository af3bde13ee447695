"""Slow start."""

from __future__ import annotations

import pytest

from serving.gateway.policies.slow_start import ramp


@pytest.mark.parametrize(("now_s", "weight"), [(100, 0.1), (100.5, 0.1), (105, 0.5), (110, 1), (500, 1)])
def test_the_weight_rises_from_a_tenth_to_one(now_s: float, weight: float) -> None:
    assert ramp(100, now_s, 10) == pytest.approx(weight)


def test_no_time_is_no_slow_start() -> None:
    assert ramp(100, 100, 0) == 1
