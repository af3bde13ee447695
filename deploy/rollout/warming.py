"""What is asked of the new engines before any client's request goes to them, and what a failure of it means.

Owns: that order, and whose failure it is. Knows nothing about how engines are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from deploy.rollout.client import Declined
from deploy.rollout.evidence import Quality
from deploy.rollout.machine import EventName
from deploy.rollout.plan import Plan
from deploy.rollout.seen import Row, Seen, lost
from serving.errors import Failed

Event = tuple[EventName, str]


class Hands(Protocol):
    """What a rollout does by itself, without the serving process."""

    def plan(self, plan: Plan) -> None:
        """See whether the new file can be started. Raises: TeapotError."""

    def warm(self, urls: tuple[str, ...]) -> None:
        """Let engines meet each kind of work. Raises: Failed."""

    def compare(self, canary: str, baseline: str) -> Quality:
        """Compare two engines' answers. Raises: Failed."""


@dataclass(frozen=True, slots=True)
class Warming:
    """One revision before its first request. `look` sees how both are now."""

    plan: Plan
    hands: Hands
    look: Callable[[], Seen]
    say: Callable[[str], None]

    def wait_for_baseline(self, seen: Seen) -> None:
        """See that the old one can be asked, unless it never will be again. Raises: Declined."""
        baseline = seen.row(self.plan.baseline)
        if baseline is not None and lost(self.plan, seen) is None and not baseline.answers:
            raise Declined(
                "no engine of the old revision is ready, so answers cannot be compared",
                where=f"revision {baseline.name}",
                fix="it is waited for; `teapot status` shows it",
            )

    def warm(self, seen: Seen) -> Event | None:
        """Let its engines meet each kind of work; an event where one cannot."""
        canary = seen.row(self.plan.canary)
        try:
            self.hands.warm(() if canary is None else tuple(engine.url for engine in canary.engines))
        except Failed as error:
            return "engines_failed", f"it was asked before clients are: {error}"
        return None

    def compare(self, seen: Seen) -> Quality | Event | None:
        """How its answers are beside the old one's; None: there is no old one. Raises: Declined."""
        canary, baseline = seen.row(self.plan.canary), seen.row(self.plan.baseline)
        if canary is None or baseline is None or lost(self.plan, seen):
            return None
        self.say("comparing its answers with those of the running revision")
        try:
            return self.hands.compare(_asked(canary), _asked(baseline))
        except Failed as error:
            now = self.look()
            if lost(self.plan, now):
                return None
            self.wait_for_baseline(now)
            return "engines_failed", f"it was asked before clients are: {error}"


def _asked(row: Row) -> str:
    """The engine that is asked for its revision's answers: one that is ready, if any is."""
    return next((engine.url for engine in row.answering if engine.ready), row.answering[0].url)
