"""Round robin: one backend after the other, in proportion to their weights.

Owns: whose turn it is. Knows nothing about load. The weighted form is nginx's smooth one: each turn every
candidate earns its weight, the richest is chosen and pays the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from serving.gateway.policies.policy import Ask, Candidate


class RoundRobin:
    """Remembers one number a backend."""

    def __init__(self) -> None:
        self._earned: dict[str, float] = {}

    def choose(self, ask: Ask, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate whose turn it is."""
        earned = {c.name: self._earned.get(c.name, 0.0) + c.weight for c in candidates}
        chosen = max(candidates, key=lambda candidate: earned[candidate.name])
        earned[chosen.name] -= sum(candidate.weight for candidate in candidates)
        self._earned = earned
        return chosen
