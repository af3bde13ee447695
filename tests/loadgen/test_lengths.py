from __future__ import annotations

from statistics import fmean, pstdev
from typing import Any

import pytest
from pydantic import TypeAdapter

from loadgen.lengths import drawer
from loadgen.workload_lengths import Length
from serving.errors import UsageError


def drawn(length: Any, number: int, *, seed: int = 1, name: str = "input", **files: list[int]) -> list[int]:
    asked = TypeAdapter(Length).validate_python(length)
    draw = drawer(asked, seed=seed, name=name, files=files)
    return [draw(index) for index in range(number)]


def test_a_number_is_the_same_for_every_request() -> None:
    assert drawn(128, 3) == [128, 128, 128]


def test_uniform_lengths_reach_both_bounds_evenly() -> None:
    lengths = drawn({"distribution": "uniform", "min": 10, "max": 13}, 4000)
    # 1,000 of each expected, standard deviation 27.
    assert {length: lengths.count(length) for length in set(lengths)} == pytest.approx(
        dict.fromkeys(range(10, 14), 1000), abs=110
    )


def test_normal_lengths_have_their_mean_and_deviation() -> None:
    lengths = drawn({"distribution": "normal", "mean": 300, "std": 40}, 4000)
    assert fmean(lengths) == pytest.approx(300, abs=4 * 40 / 4000**0.5)
    assert pstdev(lengths) == pytest.approx(40, rel=0.05)


def test_lognormal_lengths_have_the_mean_and_deviation_of_the_lengths_themselves() -> None:
    lengths = drawn({"distribution": "lognormal", "mean": 300, "std": 150}, 10_000)
    assert fmean(lengths) == pytest.approx(300, abs=4 * 150 / 10_000**0.5)
    assert pstdev(lengths) == pytest.approx(150, rel=0.08)
    # Median of a lognormal: mean / sqrt(1 + (std / mean)**2) = 300 / sqrt(1.25).
    assert sorted(lengths)[5000] == pytest.approx(268.3, rel=0.03)


@pytest.mark.parametrize("distribution", ["normal", "lognormal"])
def test_bounds_cut_a_distribution_off_and_pile_nothing_up(distribution: str) -> None:
    lengths = drawn({"distribution": distribution, "mean": 100, "std": 60, "min": 60, "max": 140}, 4000)
    assert (min(lengths), max(lengths)) == (60, 140)
    # 81 values: a pile at a bound would be hundreds.
    assert max(lengths.count(60), lengths.count(140)) < 120


def test_bounds_far_from_the_distribution_are_refused() -> None:
    with pytest.raises(UsageError, match="leave out all but a millionth"):
        drawn({"distribution": "normal", "mean": 100, "std": 1, "min": 500}, 1)


def test_lengths_of_a_file_are_taken_in_order_and_again() -> None:
    assert drawn({"distribution": "file", "file": "f"}, 5, f=[7, 8, 9]) == [7, 8, 9, 7, 8]


def test_lengths_depend_on_seed_name_and_index_alone() -> None:
    asked = {"distribution": "uniform", "min": 1, "max": 10**9}
    assert drawn(asked, 5) == drawn(asked, 9)[:5]
    assert set(drawn(asked, 5)).isdisjoint(drawn(asked, 5, seed=2) + drawn(asked, 5, name="output"))
