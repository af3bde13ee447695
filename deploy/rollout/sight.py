"""Whether the evidence can be seen: who tells it at the moment, and that nobody does.

Owns: which source is asked, and what is said and kept when it goes away. Knows nothing about what is read of
it, or what follows where nothing can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deploy.rollout.client import Admin
from deploy.rollout.entries import noted
from deploy.rollout.journal import DiskFull, Journal
from deploy.rollout.plan import Plan
from deploy.rollout.seen import Seen
from deploy.rollout.sources import Source
from serving.errors import Failed


@dataclass(slots=True)
class Sight:
    """The eyes of one rollout."""

    plan: Plan
    admin: Admin
    journal: Journal
    say: Callable[[str], None]
    clock: Callable[[], float]
    sources: Callable[[Seen, Admin, Plan], Source]
    blind: bool = False
    _source: Source | None = None
    _judged_at: str | None = None
    """The Prometheus of `_source`. One that is gone is waited for, also at another address."""

    def look(self, read_it: Callable[[Source], None], seen: Seen) -> str | None:
        """Do something with the evidence; why that could not be, where nobody has any. Raises: DiskFull."""
        moved_to = seen.prometheus is not None and seen.prometheus != self._judged_at
        if self._source is None or (self._judged_at is not None and moved_to):
            self._source, self._judged_at = self.sources(seen, self.admin, self.plan), seen.prometheus
            self.say(f"judged by {self._source.name}")
        try:
            read_it(self._source)
        except DiskFull:
            raise
        except Failed as error:
            why = f"nobody tells the numbers, so it holds: {error}"
            if not self.blind:
                self.blind = True
                self.say(why)
                self.journal.append(noted(why, at_s=self.clock()))
            return why
        self.blind = False
        return None
