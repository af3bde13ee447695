"""What the gateway is at this moment, and whether it may take a request.

Owns: the phase of its life, its backends, the verdicts on its modes, the count of requests in it.
Knows nothing about sockets: the applications read it, `server.Gateway` and the supervisor write it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from serving.gateway.backends import Backend, BackendSet
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
            if revision.weight > 0 and revision.ready:
                return None
        return Unready("no engine is ready", "no_engine_ready")

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Give revisions other shares from the next request on, and tell of it if they are others.

        Raises: ValueError with what is wrong, and then nothing changed.
        """
        before = self._shares()
        self.backends.set_weights(weights)
        if self._shares() != before:
            self.reweighted()

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
        return {
            "name": self.name,
            "state": self.phase,
            "revisions": [
                {
                    "name": revision.name,
                    "weight": revision.weight,
                    "backends": [_shown(backend) for backend in revision.backends],
                }
                for revision in self.backends.revisions()
            ],
            "modes": [
                {"kind": v.kind, "asked": v.asked, "in_effect": v.in_effect, "evidence": v.evidence}
                for v in self.verdicts
            ],
            "prometheus": self.prometheus,
        }


def _shown(backend: Backend) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "url": backend.url, "role": backend.role, "state": backend.state, "in_flight": backend.in_flight,
    }  # fmt: skip
    return {**shown, "detail": backend.detail} if backend.detail else shown
