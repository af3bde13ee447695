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
from deploy.rollout.seen import Engine, Seen, lost
from deploy.rollout.watch import Watch
from serving.errors import Failed

Event = tuple[EventName, str]


class Hands(Protocol):
    """What a rollout does by itself, without the serving process."""

    def plan(self, plan: Plan) -> None:
        """See whether the new file can be started. Raises: TeapotError."""

    def warm(self, urls: tuple[str, ...]) -> None:
        """Let engines meet each kind of work. Raises: Failed."""

    def compare(self, plan: Plan, engines: tuple[Engine, ...], baseline: str) -> Quality:
        """Compare each new engine's answers with those of an old one. Raises: Failed."""


@dataclass(frozen=True, slots=True)
class Warming:
    """One revision before its first request. `look` sees how both are now."""

    plan: Plan
    hands: Hands
    watch: Watch
    look: Callable[[], Seen]
    say: Callable[[str], None]
    clock: Callable[[], float]

    def event(self, seen: Seen) -> Event | None:
        """Let its engines meet each kind of work, and compare answers once; None: all is well.

        Raises: Declined where the old revision cannot be asked now, but may be soon; DiskFull.
        """
        comparing = self.plan.quality and self.watch.quality is None
        if comparing:
            self._wait_for_baseline(seen)
        canary = seen.row(self.plan.canary)
        try:
            self.hands.warm(() if canary is None else tuple(engine.url for engine in canary.engines))
        except Failed as error:
            return _failed(error)
        if comparing and (event := self._compare(seen)) is not None:
            return event
        found = self.watch.quality
        if self.plan.quality and found is not None and found.outcome == "fail":
            return "engines_failed", f"its answers are others: {'; '.join(found.reasons)}"
        return None

    def _compare(self, seen: Seen) -> Event | None:
        canary, baseline = seen.row(self.plan.canary), seen.row(self.plan.baseline)
        if canary is None or baseline is None or not baseline.answers:
            return None
        self.say("comparing its answers with those of the running revision")
        old = next(engine.url for engine in baseline.answering if engine.ready)
        try:
            found = self.hands.compare(self.plan, canary.engines, old)
        except Failed as error:
            now = self.look()
            if lost(self.plan, now):
                return None
            # It may be the old one that could not be asked.
            self._wait_for_baseline(now)
            return _failed(error)
        self.watch.compared(found, self.clock())
        return None

    def _wait_for_baseline(self, seen: Seen) -> None:
        """See that the old one can be asked, unless it never will be again."""
        baseline = seen.row(self.plan.baseline)
        if baseline is not None and lost(self.plan, seen) is None and not baseline.answers:
            raise Declined(
                "no engine of the old revision is ready, so answers cannot be compared",
                where=f"revision {baseline.name}",
                fix="it is waited for; `teapot status` shows it",
            )


def _failed(error: Failed) -> Event:
    return "engines_failed", f"it was asked before clients are: {error}"
