"""What is marked on the boards: a moment or a time at which something changed.

Owns: the kinds of marks, and the tags by which boards find them. Knows nothing about Grafana, or when
something happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dashboards.render import TAG


class Kind(StrEnum):
    """What happened."""

    SERVE = "serve"
    """A deployment starts, is ready, stops."""
    ENGINE = "engine"
    """An engine failed, or is back."""
    WEIGHTS = "weights"
    """Revisions got other shares of the requests."""
    LOAD = "load"
    """A load run begins; and, from its begin to its end, what came of it."""
    STAGE = "stage"
    """A stage of a load run begins."""
    STUDY = "study"
    """A study begins or ends, or one of its arms starts."""
    CELL = "cell"
    """A cell of a study begins: one workload sent to one arm."""
    VERDICT = "verdict"
    """A gate has decided on a revision."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that happened. Times are Unix times in seconds; with `until_s` it is a time, not a moment."""

    kind: Kind
    text: str
    at_s: float
    until_s: float | None = None
    deployment: str | None = None
    revisions: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """By which boards find it."""
        named = () if self.deployment is None else (f"deployment:{self.deployment}",)
        return (TAG, *named, *(f"revision:{name}" for name in self.revisions), f"kind:{self.kind}")
