"""What all policies stand on."""

from __future__ import annotations

from serving.gateway.policies.policy import Candidate, least_loaded


def test_load_counts_the_request_that_would_come() -> None:
    assert Candidate("a", 3, 0.5).load == 8


def test_the_least_loaded_is_found_whatever_the_order() -> None:
    assert least_loaded([Candidate("a", 2), Candidate("b", 0), Candidate("c", 1)]).name == "b"
