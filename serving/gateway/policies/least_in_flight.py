"""Least in flight: the backend that works on the fewest requests.

Owns: that policy, which remembers nothing. Knows nothing about what requests ask for.
"""

from __future__ import annotations

from collections.abc import Sequence

from serving.gateway.policies.policy import Ask, Candidate, least_loaded


class LeastInFlight:
    """The default: even load, whatever the requests are."""

    def choose(self, ask: Ask, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate with the smallest load."""
        return least_loaded(candidates)
