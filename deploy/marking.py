"""What a deployment has marked on the boards while it serves.

Owns: what is worth a mark and its words, and that without a Grafana or a token there are none. Knows nothing
about how a mark gets to Grafana, or when something happens.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dashboards.marks import Kind, Mark
from deploy.grafana_token import token
from serving.config.schema import Deployment
from serving.engine.states import EngineState
from serving.errors import TeapotError
from serving.gateway.backends import Backend
from serving.gateway.state import GatewayState

GIVEN_UP_AFTER_S = 3.0
"""At the end, for marks that are still on their way."""


@dataclass(slots=True)
class Marking:
    """Marks of one deployment. Every method returns at once and raises nothing; only `close` waits."""

    name: str
    note: Callable[[Mark], None] = lambda _: None
    finish: Callable[[float], None] = lambda _: None
    clock: Callable[[], float] = time.time
    _phase: Literal["planned", "starting", "ready"] = "planned"
    _lost: set[str] = field(default_factory=set)
    """Engines that failed and are not back."""

    def starting(self, what: str) -> None:
        """It begins; `what` it serves."""
        self._phase = "starting"
        self._mark(Kind.SERVE, f"{self.name} starts: {what}")

    def ready(self, state: GatewayState) -> None:
        """It takes requests; shares of revisions are told from now on."""
        self._phase = "ready"
        self._mark(Kind.SERVE, f"{self.name} is ready: {_shares(state)}", *_names(state))
        state.reweighted = lambda: self._mark(Kind.WEIGHTS, f"weights: {_shares(state)}", *_names(state))

    def stopping(self, state: GatewayState) -> None:
        """It takes no more requests, or never came to take any."""
        if self._phase != "planned":
            what = "stops" if self._phase == "ready" else "did not come up"
            self._mark(Kind.SERVE, f"{self.name} {what}", *_names(state))

    def engine(self, name: str, backend: Backend, state: EngineState) -> None:
        """An engine changed its state: failures are marked, and the return from one."""
        if state is EngineState.CRASHED:
            self._lost.add(name)
            self._mark(Kind.ENGINE, f"engine {name} failed", backend.revision)
        elif state is EngineState.FAILED:
            self._mark(Kind.ENGINE, f"engine {name} is given up", backend.revision)
        elif state is EngineState.READY and name in self._lost:
            self._lost.remove(name)
            self._mark(Kind.ENGINE, f"engine {name} is back", backend.revision)

    def verdict(self, text: str, *revisions: str) -> None:
        """A gate has decided on a revision."""
        self._mark(Kind.VERDICT, text, *revisions)

    def close(self) -> None:
        """Give what is on its way a moment to get there."""
        self.finish(GIVEN_UP_AFTER_S)

    def _mark(self, kind: Kind, text: str, *revisions: str) -> None:
        self.note(Mark(kind, text, self.clock(), deployment=self.name, revisions=revisions))


def marking(
    deployment: Deployment,
    beside: Path,
    say: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> Marking:
    """Marks in the Grafana of a deployment file, or none; why there are none is said."""
    section = deployment.grafana
    if section is None:
        return Marking(deployment.name)
    file = None if section.token_file is None else beside / section.token_file
    # Only here: requests takes longer to import than all else that serving needs.
    from dashboards.annotations import Annotations, to_grafana

    try:
        send = to_grafana(section.url, token(file, environ, variable=section.token_env))
    except TeapotError as error:
        say(f"nothing is marked in Grafana: {error}")
        return Marking(deployment.name)
    annotations = Annotations(send, say)
    return Marking(deployment.name, annotations.note, annotations.close)


def _names(state: GatewayState) -> tuple[str, ...]:
    return tuple(revision.name for revision in state.backends.revisions())


def _shares(state: GatewayState) -> str:
    revisions = state.backends.revisions()
    return ", ".join(f"{revision.name} {revision.weight * 100:.3g} %" for revision in revisions)
