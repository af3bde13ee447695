"""The engines behind the gateway: where they are, whether they may be used, what they are doing.

Owns: `Backend`, the set of them by revision, and the revisions' weights. Knows nothing about who decides a
backend's state (the supervisor does) or how one is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["any", "prefill", "decode"]
ANSWERING: tuple[Role, ...] = ("any", "decode")
"""The roles that can write an answer."""
BackendState = Literal["starting", "ready", "draining", "down"]


@dataclass(slots=True, eq=False)
class Backend:
    """One OpenAI-compatible server. `url` has no slash at its end, and a path only where its API has one."""

    url: str
    role: Role = "any"
    revision: str = "main"
    state: BackendState = "starting"
    in_flight: int = 0
    detail: str = ""
    """Why it is not ready, where that is known."""
    failures: int = 0
    """How often its engine crashed, hung or could not be proven."""
    memory_bytes: int | None = None
    """What its engine's processes had resident when they were last looked at."""

    def serving(self) -> Counted:
        """Count a request as in flight for as long as the block runs, however it ends."""
        return Counted(self)


class Counted:
    """A request at a backend, for the length of a `with`. A generator would cost every request more."""

    __slots__ = ("_backend",)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> None:
        self._backend.in_flight += 1

    def __exit__(self, *why: object) -> None:
        self._backend.in_flight -= 1


@dataclass(frozen=True, slots=True)
class Revision:
    """The backends that serve one revision of a deployment, and its share of the requests."""

    name: str
    weight: float
    backends: tuple[Backend, ...]
    steps_in: bool = False
    """Whether it may answer without a share, where no revision with one can."""
    prefills: bool = field(init=False)
    """Whether it has backends that only prefill; asked for with every request, and never changing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefills", any(b.role == "prefill" for b in self.backends))

    @property
    def ready(self) -> bool:
        """Whether it can answer: a backend that only prefills cannot."""
        for backend in self.backends:  # noqa: SIM110 - a generator would cost every request more
            if backend.state == "ready" and backend.role in ANSWERING:
                return True
        return False


class BackendSet:
    """All backends, in the order they came."""

    def __init__(self) -> None:
        self._backends: list[Backend] = []
        self._weights: Mapping[str, float] | None = None
        self._steps_in: frozenset[str] = frozenset()
        self._revisions: tuple[Revision, ...] | None = None
        """As of the last change: they are asked for with every request."""

    def __iter__(self) -> Iterator[Backend]:
        return iter(self._backends)

    def __len__(self) -> int:
        return len(self._backends)

    def add(self, backend: Backend) -> None:
        """Add a backend; it is used once its state is `ready`."""
        self._backends.append(backend)
        self._revisions = None

    def remove(self, backend: Backend) -> None:
        """Forget a backend; requests it still serves run on. Raises: ValueError if it is not here."""
        self._backends.remove(backend)
        self._revisions = None

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Give the revisions their shares from the next request on; a revision not named gets none.

        Requests that run are not touched. Raises: ValueError with what is wrong, and then nothing changed.
        """
        names = {backend.revision for backend in self._backends}
        if unknown := sorted(weights.keys() - names):
            raise ValueError(f"there is no revision {unknown[0]!r}; there are {', '.join(sorted(names))}")
        for name, weight in weights.items():
            if not math.isfinite(weight) or weight < 0:
                raise ValueError(f"the weight of {name!r} is {weight}; give a number from 0 on")
        if sum(weights.values()) <= 0:
            raise ValueError("all weights are 0; give one revision a share")
        self._weights, self._revisions = dict(weights), None

    @property
    def steps_in(self) -> frozenset[str]:
        """The revisions that may answer without a share, where no revision with one can."""
        return self._steps_in

    def let_step_in(self, names: Collection[str]) -> None:
        """Choose those revisions anew: such as are proven, and whose engines are ours."""
        self._steps_in, self._revisions = frozenset(names), None

    def revisions(self) -> tuple[Revision, ...]:
        """The backends by revision. Until weights are set, revisions share equally; shares add up to 1."""
        if self._revisions is None:
            self._revisions = self._divided()
        return self._revisions

    def _divided(self) -> tuple[Revision, ...]:
        names = list(dict.fromkeys(backend.revision for backend in self._backends))
        weights = self._weights or dict.fromkeys(names, 1.0)
        total = sum(weights.get(name, 0.0) for name in names)
        return tuple(
            Revision(
                name,
                weights.get(name, 0.0) / total if total else 0.0,
                tuple(b for b in self._backends if b.revision == name),
                name in self._steps_in,
            )
            for name in names
        )
