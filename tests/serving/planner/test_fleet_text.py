"""A fleet in words: nothing is rounded up to perfection, and what is assumed or endless is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serving.planner.fleet import Fleet, size
from serving.planner.fleet_simulation import Lived
from serving.planner.fleet_text import chart, fleet_text, nines, percent, spell, waiting_text

FLEET = Fleet(peak_per_s=30.0, goodput_per_s=10.0, between_failures_s=7 * 86400.0, repair_s=600.0)
LIVED = Lived(20.0, 0.9995, 1e-5, 30, 1500.0)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0.0 %"),
        (0.5, "50.0 %"),
        (0.999, "99.90 %"),
        (0.9996, "99.960 %"),
        (0.99999899, "99.99989 %"),
        (0.9999999, "> 99.9999 %"),
        (1.0, "> 99.9999 %"),
    ],
)
def test_a_share_is_never_told_as_a_whole(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(604800, "7 d"), (5400, "1.5 h"), (150, "2.5 min"), (3, "3 s"), (0.25, "0.25 s")]
)
def test_a_time_is_told_in_its_largest_unit(seconds: float, words: str) -> None:
    assert spell(seconds) == words


def test_nines_are_those_of_the_share() -> None:
    assert nines(0.999) == pytest.approx(3.0)
    assert nines(1.0) == pytest.approx(6.0)


def test_the_bar_grows_by_as_much_for_every_nine() -> None:
    lengths = [
        chart([replace(size(FLEET, 3), covered=share)], size(FLEET, 9))[1].count("█")
        for share in (0.9, 0.99, 0.999)
    ]
    assert lengths[1] - lengths[0] == lengths[2] - lengths[1] > 0


def test_the_answer_comes_first_and_the_chosen_size_is_marked() -> None:
    sizes = [size(FLEET, count) for count in (3, 4, 5)]
    text = fleet_text(FLEET, sizes[1], sizes, LIVED, 0.999, ("given", "assumed"))
    assert text.splitlines()[0].startswith("4 replicas cover 30 requests/s in 99.99")
    assert [line.split()[1] for line in text.splitlines() if line.startswith(">")] == ["4"]
    assert "(assumed): up in 99.900 %" in text
    assert "20 years: covered in 99.950 %; 1.5 shortfalls a year, the longest 25 min" in text
    assert "rollouts" not in text


def test_rollouts_that_overtake_each_other_are_told() -> None:
    fleet = replace(FLEET, rollout_every_s=3600.0, restart_s=1800.0)
    text = fleet_text(fleet, size(fleet, 5), [size(fleet, 5)], LIVED, 0.999, ("given", "given"))
    assert "every 1 h, 1 away at once, 30 min each: 2.5 h long, so the next is due before one is over" in text


def test_who_waits_is_told_for_all_and_for_those_needed() -> None:
    # One slot each and 1.5 requests at once: 3 servers, C = 0.2368 (tables of Erlang's C); 2 servers, 0.6429.
    fleet = replace(FLEET, peak_per_s=1.5, goodput_per_s=0.75)
    text = waiting_text(fleet, size(fleet, 3), slots=1, service_s=1.0)
    assert "with 3 up 23.6 % wait, 0.158 s on average; with 2 up 64.2 % wait, 1.286 s on average" in text


def test_slots_that_are_too_few_are_told() -> None:
    assert "the 30 slots are too few for 60 requests at once" in waiting_text(FLEET, size(FLEET, 3), 10, 2.0)
