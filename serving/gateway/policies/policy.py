"""What a routing policy is: it picks one of several backends for a request.

Owns: the values policies decide on. Knows nothing about backends' addresses, time or the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Ask(NamedTuple):
    """What of a request may decide where it goes."""

    body: bytes = b""
    session: str | None = None
    """The client's `X-Session-Id`."""
    key: str | None = None
    """Which API key asks."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backend that may be chosen. `weight` is below 1 while it starts slowly."""

    name: str
    in_flight: int
    weight: float = 1.0

    @property
    def load(self) -> float:
        """Requests in flight, were one more given to it, as a share of what it should get."""
        return (self.in_flight + 1) / self.weight


class Policy(Protocol):
    """Picks a candidate. A policy may remember, within bounds, what it chose."""

    def choose(self, ask: Ask, candidates: Sequence[Candidate]) -> Candidate:
        """One of `candidates`, of which there is at least one."""


def least_loaded(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the smallest load, the first of equals."""
    return min(candidates, key=lambda candidate: candidate.load)
