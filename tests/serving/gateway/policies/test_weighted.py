"""Shares of revisions."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from serving.gateway.policies.weighted import by_key, by_point, even_point


def test_a_point_falls_into_the_share_it_lies_in() -> None:
    weights = {"old": 3.0, "none": 0.0, "new": 1.0}
    assert [by_point(weights, point) for point in (0.0, 0.74, 0.75, 0.999)] == ["old", "old", "new", "new"]


def test_points_are_even_after_any_number_of_requests() -> None:
    for count in (10, 100, 1000):
        inside = sum(even_point(number) < 0.1 for number in range(1, count + 1))
        assert inside == pytest.approx(count / 10, abs=2)


def test_keys_are_spread_by_weight_and_names_without_weight_get_none() -> None:
    weights = {"old": 3.0, "new": 1.0, "none": 0.0}
    counts = Counter(by_key(weights, f"key-{number}") for number in range(2000))
    assert counts["new"] == pytest.approx(500, abs=75)
    assert counts["none"] == 0


def test_as_a_share_grows_keys_only_move_to_it() -> None:
    keys = [f"key-{number}" for number in range(500)]
    placed = [{key: by_key({"old": 100 - w, "new": w}, key) for key in keys} for w in (1, 10, 50, 100)]
    for before, after in pairwise(placed):
        assert all(after[key] == "new" for key in keys if before[key] == "new")
    assert set(placed[-1].values()) == {"new"}
