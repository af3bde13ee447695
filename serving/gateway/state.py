"""What the gateway is at this moment, and whether it may take a request.

Owns: the phase of its life, its backends, the verdicts on its modes, the count of requests in it.
Knows nothing about sockets: the applications read it, `server.Gateway` and the supervisor write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from serving.gateway.backends import BackendSet
from serving.modes.mode import Verdict

Phase = Literal["starting", "ready", "draining", "stopped"]


@dataclass(frozen=True, slots=True)
class Unready:
    """Why requests are refused: for people, and the `code` for programs."""

    message: str
    code: str


@dataclass(slots=True)
class GatewayState:
    """One deployment's gateway."""

    name: str
    phase: Phase = "starting"
    backends: BackendSet = field(default_factory=BackendSet)
    verdicts: Sequence[Verdict] = ()
    in_flight: int = 0
    """Requests that were admitted and are not finished, also while their body is still coming in."""

    def unready(self) -> Unready | None:
        """Why no request can be taken now; None if one can."""
        if self.phase == "starting":
            return Unready("the engine is starting", "engine_starting")
        if self.phase != "ready":
            return Unready("the server is shutting down", "shutting_down")
        if not any(backend.state == "ready" for backend in self.backends):
            return Unready("no engine is ready", "no_engine_ready")
        return None

    def document(self) -> dict[str, Any]:
        """The document of `GET /status`, as the contract has it."""
        return {
            "name": self.name,
            "state": self.phase,
            "revisions": [
                {
                    "name": revision.name,
                    "weight": revision.weight,
                    "backends": [
                        {"url": b.url, "role": b.role, "state": b.state, "in_flight": b.in_flight}
                        for b in revision.backends
                    ],
                }
                for revision in self.backends.revisions()
            ],
            "modes": [
                {"kind": v.kind, "asked": v.asked, "in_effect": v.in_effect, "evidence": v.evidence}
                for v in self.verdicts
            ],
        }
