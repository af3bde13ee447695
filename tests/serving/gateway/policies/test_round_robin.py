"""Round robin."""

from __future__ import annotations

from collections import Counter

from serving.gateway.policies.policy import Ask, Candidate
from serving.gateway.policies.round_robin import RoundRobin


def names(policy: RoundRobin, candidates: list[Candidate], count: int) -> str:
    return "".join(policy.choose(Ask(), candidates).name for _ in range(count))


def test_everyone_has_a_turn_whatever_the_load() -> None:
    candidates = [Candidate("a", 9), Candidate("b", 0), Candidate("c", 3)]
    assert names(RoundRobin(), candidates, 6) == "abcabc"


def test_turns_are_in_proportion_to_weights_and_well_mixed() -> None:
    # The example of nginx's smooth weighted round robin: 5, 1 and 1 give aabacaa.
    candidates = [Candidate("a", 0, 1.0), Candidate("b", 0, 0.2), Candidate("c", 0, 0.2)]
    assert names(RoundRobin(), candidates, 7) == "aabacaa"


def test_a_backend_that_was_away_does_not_catch_up() -> None:
    policy, both = RoundRobin(), [Candidate("a", 0), Candidate("b", 0)]
    names(policy, both[:1], 50)
    assert Counter(names(policy, both, 10)) == {"a": 5, "b": 5}
