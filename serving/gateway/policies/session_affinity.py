"""Session affinity: requests of one session go to one backend, which has their prefix in its cache.

Owns: the map from sessions to backends. Knows nothing about what a session is. The map is a hash
(rendezvous: the backend whose hash with the session is the highest), so nothing is kept, several gateways
agree, and when a backend goes only its own sessions move.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from serving.gateway.policies.policy import Ask, Candidate, least_loaded


class SessionAffinity:
    """By the header `X-Session-Id`; requests without one go where the load is the smallest."""

    def choose(self, ask: Ask, candidates: Sequence[Candidate]) -> Candidate:
        """The session's candidate."""
        session = ask.session
        if session is None:
            return least_loaded(candidates)
        return max(candidates, key=lambda candidate: rank(session, candidate.name))


def rank(key: str, name: str) -> int:
    """How high `name` stands for `key`: a number below 2**64, as good as random and always the same."""
    digest = blake2b(f"{name}\n{key}".encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
