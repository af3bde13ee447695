"""The engines behind the gateway: where they are, whether they may be used, what they are doing.

Owns: `Backend` and the set of them by revision. Knows nothing about who decides a backend's state (the
supervisor does) or how one is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

Role = Literal["any", "prefill", "decode"]
BackendState = Literal["starting", "ready", "draining", "down"]


@dataclass(slots=True, eq=False)
class Backend:
    """One OpenAI-compatible server. `url` has no path and no slash at its end."""

    url: str
    role: Role = "any"
    revision: str = "main"
    state: BackendState = "starting"
    in_flight: int = 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Count a request as in flight for as long as the block runs, however it ends."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1


@dataclass(frozen=True, slots=True)
class Revision:
    """The backends that serve one revision of a deployment, and its share of the requests."""

    name: str
    weight: float
    backends: tuple[Backend, ...]


class BackendSet:
    """All backends, in the order they came."""

    def __init__(self) -> None:
        self._backends: list[Backend] = []

    def __iter__(self) -> Iterator[Backend]:
        return iter(self._backends)

    def __len__(self) -> int:
        return len(self._backends)

    def add(self, backend: Backend) -> None:
        """Add a backend; it is used once its state is `ready`."""
        self._backends.append(backend)

    def remove(self, backend: Backend) -> None:
        """Forget a backend; requests it still serves run on. Raises: ValueError if it is not here."""
        self._backends.remove(backend)

    def revisions(self) -> tuple[Revision, ...]:
        """The backends by revision. Until rollouts set weights, revisions share equally."""
        names = list(dict.fromkeys(backend.revision for backend in self._backends))
        return tuple(
            Revision(name, 1 / len(names), tuple(b for b in self._backends if b.revision == name))
            for name in names
        )
