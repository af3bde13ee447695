"""Least in flight."""

from __future__ import annotations

from serving.gateway.policies.least_in_flight import LeastInFlight
from serving.gateway.policies.policy import Ask, Candidate


def test_the_fewest_requests_win_and_the_first_of_equals() -> None:
    candidates = [Candidate("a", 3), Candidate("b", 1), Candidate("c", 1)]
    assert LeastInFlight().choose(Ask(), candidates).name == "b"


def test_a_backend_at_a_quarter_of_its_weight_counts_four_times() -> None:
    # One more request would be 1/0.25 = 4 on the slow one and 3 on the other.
    assert LeastInFlight().choose(Ask(), [Candidate("slow", 0, 0.25), Candidate("b", 2)]).name == "b"
    assert LeastInFlight().choose(Ask(), [Candidate("slow", 0, 0.25), Candidate("b", 4)]).name == "slow"
