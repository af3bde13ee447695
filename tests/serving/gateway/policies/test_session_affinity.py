"""Session affinity."""

from __future__ import annotations

from collections import Counter

from serving.gateway.policies.policy import Ask, Candidate
from serving.gateway.policies.session_affinity import SessionAffinity

BACKENDS = [Candidate(name, 0) for name in ("a", "b", "c", "d")]
SESSIONS = [f"session-{number}" for number in range(400)]


def placed(candidates: list[Candidate]) -> dict[str, str]:
    return {s: SessionAffinity().choose(Ask(session=s), candidates).name for s in SESSIONS}


def test_a_session_stays_and_sessions_are_spread() -> None:
    assert placed(BACKENDS) == placed(BACKENDS[::-1])
    assert all(60 < count < 140 for count in Counter(placed(BACKENDS).values()).values())


def test_when_a_backend_goes_only_its_own_sessions_move() -> None:
    before, after = placed(BACKENDS), placed(BACKENDS[:3])
    assert {s for s in SESSIONS if before[s] != after[s]} == {s for s in SESSIONS if before[s] == "d"}


def test_without_a_session_the_load_decides() -> None:
    assert SessionAffinity().choose(Ask(), [Candidate("a", 2), Candidate("b", 1)]).name == "b"


def test_a_session_may_hold_any_character() -> None:
    assert SessionAffinity().choose(Ask(session="\udcff é"), BACKENDS).name in "abcd"
