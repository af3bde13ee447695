"""Which backend serves a request: revision by weight, backend by policy, and what to do without a good one.

Owns: the choice, and what it remembers of backends (since when they are ready, until when they rest).
Knows nothing about requests on the wire or metrics; the time comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from serving.gateway.backends import Backend, BackendSet, Revision, Role
from serving.gateway.policies import POLICIES
from serving.gateway.policies.policy import Ask, Candidate, Policy
from serving.gateway.policies.slow_start import ramp
from serving.gateway.policies.weighted import by_key, by_point, even_point
from serving.gateway.routing_settings import RoutingSettings


@dataclass(slots=True)
class _Memory:
    ready_since_s: float
    rests_until_s: float = 0.0


@dataclass(slots=True)
class Router:
    """Chooses among the backends of one gateway."""

    backends: BackendSet
    settings: RoutingSettings = field(default_factory=RoutingSettings)
    _policies: dict[tuple[str, Role], Policy] = field(default_factory=dict)
    _memory: dict[Backend, _Memory] = field(default_factory=dict)
    _asked: int = 0
    _lacked: int = 0

    def first(self, ask: Ask) -> tuple[Revision | None, bool]:
        """The revision for a request that was not tried yet, and whether it stands in for one that cannot
        answer.
        """
        chosen = self.revision(ask)
        for revision in self.backends.revisions():
            if revision.weight > 0 and not revision.ready:
                return chosen, chosen is not None and not self._due(ask).ready
        return chosen, False

    def _due(self, ask: Ask) -> Revision:
        """Whose request it would be if all could answer."""
        revisions = {r.name: r for r in self.backends.revisions() if r.weight > 0}
        weights = {name: revision.weight for name, revision in revisions.items()}
        if (key := self._sticky(ask)) is not None:
            return revisions[by_key(weights, key)]
        self._lacked += 1
        return revisions[by_point(weights, even_point(self._lacked))]

    def revision(self, ask: Ask, without: Collection[str] = ()) -> Revision | None:
        """The revision for a request, none of `without`. One that cannot answer lends its share to others.

        A revision without a share serves nobody, unless it may step in and no other can. None: nobody can.
        """
        there = [r for r in self.backends.revisions() if r.weight > 0 and r.ready and r.name not in without]
        if len(there) < 2:
            return there[0] if there else self._stepping_in(without)
        revisions = {revision.name: revision for revision in there}
        weights = {name: revision.weight for name, revision in revisions.items()}
        if (key := self._sticky(ask)) is not None:
            return revisions[by_key(weights, key)]
        self._asked += 1
        return revisions[by_point(weights, even_point(self._asked))]

    def _stepping_in(self, without: Collection[str]) -> Revision | None:
        there = self.backends.revisions()
        return next((r for r in there if r.steps_in and r.ready and r.name not in without), None)

    def _sticky(self, ask: Ask) -> str | None:
        sticky = self.settings.sticky
        return ask.session if sticky == "session" else ask.key if sticky == "key" else None

    def choose(
        self, revision: Revision, roles: Collection[Role], ask: Ask, now_s: float,
        tried: Collection[Backend] = (),
    ) -> Backend | None:  # fmt: skip
        """A ready backend of the revision, in one of the roles, not tried before; None if there is none.

        Backends that rest are left out, unless that leaves none.
        """
        ready = [b for b in revision.backends if b.state == "ready" and b.role in roles and b not in tried]
        self._notice(now_s)
        rested = [b for b in ready if self._memory[b].rests_until_s <= now_s]
        usable = rested or ready
        if len(usable) < 2:
            return usable[0] if usable else None
        candidates = [Candidate(b.url, b.in_flight, self._weight(b, now_s)) for b in usable]
        policy = self._policy(revision.name, usable)
        chosen = policy.choose(ask, candidates)
        return usable[candidates.index(chosen)]

    def rest(self, backend: Backend, now_s: float, for_s: float) -> None:
        """Leave a backend alone for a while: it refused, or could not be reached."""
        memory = self._memory.setdefault(backend, _Memory(now_s))
        memory.rests_until_s = max(memory.rests_until_s, now_s + for_s)

    def _policy(self, revision: str, usable: Sequence[Backend]) -> Policy:
        # A policy's memory is of one set of equals: prefilling engines have caches of their own.
        place = (revision, usable[0].role)
        return self._policies.get(place) or self._policies.setdefault(place, POLICIES[self.settings.policy]())

    def _weight(self, backend: Backend, now_s: float) -> float:
        return ramp(self._memory[backend].ready_since_s, now_s, self.settings.slow_start_s)

    def _notice(self, now_s: float) -> None:
        """See which backends became ready, which are not any more, and which are gone."""
        ready = {backend for backend in self.backends if backend.state == "ready"}
        if ready == self._memory.keys():
            return
        for backend in self._memory.keys() - ready:
            del self._memory[backend]
        for backend in ready - self._memory.keys():
            self._memory[backend] = _Memory(now_s)
        names = {backend.revision for backend in self.backends}
        for place in [place for place in self._policies if place[0] not in names]:
            del self._policies[place]
