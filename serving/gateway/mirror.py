"""The state of a gateway as its worker processes need it: taken in the parent, put into force in a worker.

Owns: what of the state crosses, in both directions. Knows nothing about processes or how it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from serving.connectors.connector import Legs
from serving.gateway.backends import Backend, BackendState, Role
from serving.gateway.outcome import Outcome
from serving.gateway.state import GatewayState, Phase, ShadowShare


@dataclass(frozen=True, slots=True)
class BackendSeen:
    """A backend as the supervisor has it; how many requests a worker has there is the worker's own count."""

    url: str
    role: Role
    revision: str
    state: BackendState


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that decides what a worker does with a request."""

    phase: Phase
    backends: tuple[BackendSeen, ...]
    weights: tuple[tuple[str, float], ...]
    shadow: ShadowShare | None
    steps_in: frozenset[str] = frozenset()
    legs: Legs | None = None
    again_in_s: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker is doing, and the requests that ended since its last report."""

    in_flight: int
    waiting: int
    backends: tuple[tuple[str, int], ...]
    ended: tuple[Outcome, ...]


def take(state: GatewayState) -> Snapshot:
    """The state as it is now."""
    return Snapshot(
        state.phase,
        tuple(BackendSeen(b.url, b.role, b.revision, b.state) for b in state.backends),
        tuple((revision.name, revision.weight) for revision in state.backends.revisions()),
        state.shadow,
        state.backends.steps_in,
        state.legs,
        state.again_in_s,
    )


def put(snapshot: Snapshot, state: GatewayState) -> None:
    """Put a snapshot into force; backends that were there before keep their requests."""
    wanted = {(seen.url, seen.role, seen.revision): seen.state for seen in snapshot.backends}
    for backend in list(state.backends):
        place = (backend.url, backend.role, backend.revision)
        if place in wanted:
            backend.state = wanted.pop(place)
        else:
            backend.state = "down"
            state.backends.remove(backend)
    for (url, role, revision), now in wanted.items():
        state.backends.add(Backend(url, role, revision, now))
    if any(weight > 0 for _, weight in snapshot.weights):
        state.backends.set_weights(dict(snapshot.weights))
    if state.backends.steps_in != snapshot.steps_in:
        state.backends.let_step_in(snapshot.steps_in)
    state.shadow, state.legs, state.again_in_s = snapshot.shadow, snapshot.legs, snapshot.again_in_s
    state.phase = snapshot.phase


def add_up(reports: Iterable[Report], state: GatewayState) -> int:
    """Let the parent's state show what all workers do together; returns how many requests wait in them."""
    reports = list(reports)
    state.in_flight = sum(report.in_flight for report in reports)
    for backend in state.backends:
        backend.in_flight = sum(dict(report.backends).get(backend.url, 0) for report in reports)
    return sum(report.waiting for report in reports)
