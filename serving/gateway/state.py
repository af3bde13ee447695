"""What the gateway is at this moment, and whether it may take a request.

Owns: the phase of its life, its backends, the verdicts on its modes, the count of requests in it.
Knows nothing about sockets: the applications read it, `server.Gateway` and the supervisor write it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from serving.connectors.connector import Legs
from serving.gateway.backends import Backend, BackendSet, Revision
from serving.modes.mode import Verdict

Phase = Literal["starting", "ready", "leaving", "draining", "stopped"]
"""leaving: requests are still taken, but load balancers are told to send no more."""


@dataclass(frozen=True, slots=True)
class Unready:
    """Why requests are refused: for people, and the `code` for programs."""

    message: str
    code: str


@dataclass(frozen=True, slots=True)
class ShadowShare:
    """Which revision gets copies of requests, and of what share of them."""

    revision: str
    ratio: float


RevisionState = Literal["planned", "starting", "proving", "ready", "failed", "leaving"]


@dataclass(slots=True)
class OwnRevision:
    """A revision whose engines are this process's own, as its owner tells it."""

    state: RevisionState = "planned"
    file: str = ""
    """The deployment file that it is made from."""
    problem: str | None = None
    """Why it failed."""
    verdicts: Sequence[Verdict] = ()
    up_in_s: float | None = None
    """How long its engines took to come up and be proven."""

    def document(self) -> dict[str, Any]:
        """What `GET /status` tells of it beside weight and backends."""
        modes = [_judged(verdict) for verdict in self.verdicts]
        return {
            "state": self.state, "problem": self.problem, "file": self.file, "up_in_s": self.up_in_s,
            "modes": modes,
        }  # fmt: skip


@dataclass(slots=True)
class GatewayState:
    """One deployment's gateway."""

    name: str
    phase: Phase = "starting"
    backends: BackendSet = field(default_factory=BackendSet)
    verdicts: Sequence[Verdict] = ()
    shadow: ShadowShare | None = None
    prometheus: str | None = None
    """Where the Prometheus beside this gateway answers; None: there is none."""
    own: dict[str, OwnRevision] = field(default_factory=dict)
    """The revisions whose engines are this process's own; `tell` changes them."""
    legs: Legs | None = None
    """How requests are divided for a revision that came later; None: as the settings say."""
    again_in_s: int | None = None
    """When there will be an engine again, where that is known."""
    rollout: Mapping[str, Any] | None = None
    """What a rollout's controller last said of it."""
    token_file: str | None = None
    """Where the token lies that starting and ending engines takes."""
    in_flight: int = 0
    """Requests that were admitted and are not finished, also while their body is still coming in."""
    queued: Callable[[], int] = lambda: 0
    """How many of them wait for a place at the engines."""
    reweighted: Callable[[], None] = lambda: None
    """Called when revisions got other shares; it must not block."""

    def unready(self) -> Unready | None:
        """Why the gateway is not ready, as load balancers are told; None if it is."""
        if self.phase == "leaving":
            return Unready("the server is shutting down", "shutting_down")
        return self.refuses()

    def refuses(self) -> Unready | None:
        """Why a request is refused now; None if it is taken, as it also is while the gateway is leaving."""
        if self.phase == "starting":
            return Unready("the engine is starting", "engine_starting")
        if self.phase not in ("ready", "leaving"):
            return Unready("the server is shutting down", "shutting_down")
        for revision in self.backends.revisions():
            if (revision.weight > 0 or revision.steps_in) and revision.ready:
                return None
        return Unready("no engine is ready", "no_engine_ready")

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Give revisions other shares from the next request on, and tell of it if they are others.

        Raises: ValueError with what is wrong, and then nothing changed.
        """
        for name, weight in weights.items():
            own = self.own.get(name)
            if weight > 0 and own is not None and own.state in ("failed", "leaving"):
                raise ValueError(f"revision {name!r} is {own.state} and can serve nobody")
        before = self._shares()
        self.backends.set_weights(weights)
        if self._shares() != before:
            self.reweighted()

    def tell(self, name: str, own: OwnRevision | None) -> None:
        """Show a revision of own engines as it is, and let it step in while it is proven; None: it is gone.

        Its verdicts are those of the deployment while none of the others has a larger share.
        """
        if own is None:
            self.own.pop(name, None)
        else:
            self.own[name] = own
        self.backends.let_step_in([key for key, row in self.own.items() if row.state == "ready"])

    def judged(self) -> Sequence[Verdict]:
        """The verdicts that hold for most requests of those that engines of our own get."""
        ours = [revision for revision in self.backends.revisions() if revision.name in self.own]
        first = max(ours, key=lambda revision: revision.weight, default=None)
        return self.verdicts if first is None else self.own[first.name].verdicts

    def _shares(self) -> dict[str, float]:
        return {revision.name: revision.weight for revision in self.backends.revisions()}

    def set_shadow(self, share: ShadowShare | None) -> None:
        """Send copies from the next request on, or none. Raises: ValueError for an unknown revision."""
        names = {backend.revision for backend in self.backends}
        if share is not None and share.revision not in names:
            raise ValueError(f"there is no revision {share.revision!r}; there are {', '.join(sorted(names))}")
        self.shadow = share

    def document(self) -> dict[str, Any]:
        """The document of `GET /status`, as the contract has it."""
        there = self.backends.revisions()
        names = {revision.name for revision in there}
        without = [Revision(name, 0.0, ()) for name in self.own if name not in names]
        told: dict[str, Any] = {
            "name": self.name,
            "state": self.phase,
            "revisions": [self._revision(revision) for revision in (*there, *without)],
            "modes": [_judged(verdict) for verdict in self.judged()],
            "prometheus": self.prometheus,
        }
        more = {"rollout": self.rollout, "token_file": self.token_file}
        return told | {key: value for key, value in more.items() if value is not None}

    def _revision(self, revision: Revision) -> dict[str, Any]:
        own = self.own.get(revision.name)
        return {
            "name": revision.name,
            "weight": revision.weight,
            "backends": [_shown(backend) for backend in revision.backends],
            **({} if own is None else own.document()),
        }


def _judged(verdict: Verdict) -> dict[str, Any]:
    return {
        "kind": verdict.kind, "asked": verdict.asked, "in_effect": verdict.in_effect,
        "evidence": verdict.evidence,
    }  # fmt: skip


def _shown(backend: Backend) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "url": backend.url, "role": backend.role, "state": backend.state, "in_flight": backend.in_flight,
    }  # fmt: skip
    return {**shown, "detail": backend.detail} if backend.detail else shown
