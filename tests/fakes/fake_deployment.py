"""A deployment that is only its admin interface: what a rollout asks of it is done after some looks at it.

Owns: revisions, weights, what was called in which order, and a clock that runs when somebody sleeps. Knows
nothing about engines or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.rollout.client import Away, Declined


class Killed(BaseException):
    """The process that called is gone: nothing after this call happens."""


@dataclass(slots=True)
class Clock:
    now_s: float = 1000.0
    slept: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.slept()


@dataclass(slots=True)
class Revision:
    state: str
    file: str
    weight: float = 0.0
    problem: str | None = None
    looks: int = 0
    down: bool = False
    """Whether its engines are being started again."""


_NEXT = {"planned": "starting", "starting": "proving", "proving": "ready", "leaving": "gone"}


@dataclass(slots=True)
class FakeDeployment:
    """Stands for `client.Admin`. `before` is called with each changing call's words, and may raise."""

    rows: dict[str, Revision] = field(default_factory=lambda: {"main": Revision("ready", "/old.yaml", 1.0)})
    calls: list[str] = field(default_factory=list)
    served: list[dict[str, float]] = field(default_factory=list)
    """The weights after each call."""
    before: Callable[[str], None] = lambda words: None
    away: bool = False
    fails: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with a revision when it should get ready."""
    replaced: dict[str, str] = field(default_factory=dict)
    told: list[Mapping[str, Any]] = field(default_factory=list)
    prometheus: str | None = None
    name: str = "demo"
    url: str = "http://admin"

    def status(self) -> dict[str, Any]:
        if self.away:
            raise Away("the gateway's admin interface cannot be reached", where="http://admin/status")
        for name in list(self.rows):
            self._go_on(name)
        revisions = [
            {
                "name": name, "weight": row.weight, "state": row.state, "problem": row.problem,
                "file": row.file, "up_in_s": 21.5, "modes": [],
                "backends": [
                    {"url": f"http://{name}", "role": "any", "in_flight": 0,
                     "state": "ready" if row.state == "ready" and not row.down else "starting"}
                ],
            }
            for name, row in self.rows.items()
        ]  # fmt: skip
        return {"name": self.name, "revisions": revisions, "prometheus": self.prometheus}

    def _go_on(self, name: str) -> None:
        """Each state is seen twice before the next."""
        row = self.rows[name]
        row.looks += 1
        if row.state not in _NEXT or row.looks % 2 or name in self.replaced.values():
            return
        row.state = _NEXT[row.state]
        if row.state == "gone":
            del self.rows[name]
        elif row.state == "ready" and name in self.fails:
            row.state, row.problem = "failed", self.fails[name]
            if (old := self.replaced.pop(f"by {name}", None)) is not None:
                # The serving process brings the old one back by itself.
                self.rows[old] = Revision("ready", "/old.yaml", 1.0)
        elif row.state == "ready" and self.replaced.pop(f"by {name}", None) is not None:
            row.weight = 1.0

    def begin(
        self, name: str, file: str, *, replaces: str | None = None, again_in_s: int | None = None
    ) -> None:
        self._call(f"begin {name} {file}" + (f" for {replaces} in {again_in_s}" if replaces else ""))
        if name in self.rows:
            raise Declined(f"there is a revision {name!r} already")
        self.rows[name] = Revision("planned", file)
        if replaces is not None:
            del self.rows[replaces]
            self.replaced[f"by {name}"] = replaces

    def end(self, name: str, *, cut: bool) -> None:
        self._call(f"end {name} {'cut' if cut else 'finish'}")
        if name not in self.rows:
            raise Declined(f"there are no engines of a revision {name!r}")
        if self.rows[name].weight > 0 and not any(
            row.weight > 0 for other, row in self.rows.items() if other != name
        ):
            raise Declined(f"{name!r} is the only revision with a share")
        row = self.rows[name]
        row.weight = 0.0
        if row.state != "leaving":
            row.state, row.looks = "leaving", 0

    def weigh(self, weights: Mapping[str, float]) -> None:
        shown = " ".join(f"{name}={weight:g}" for name, weight in sorted(weights.items()))
        self._call(f"weigh {shown}")
        if unknown := weights.keys() - self.rows.keys():
            raise Declined(f"there is no revision {sorted(unknown)[0]!r}")
        for name, weight in weights.items():
            if weight > 0 and self.rows[name].state in ("failed", "leaving"):
                raise Declined(f"revision {name!r} is {self.rows[name].state} and can serve nobody")
        total = sum(weights.values())
        for name, row in self.rows.items():
            row.weight = weights.get(name, 0.0) / total
        self.served.append({name: row.weight for name, row in self.rows.items()})

    def shadow(self, revision: str, ratio: float) -> None:
        self._call(f"shadow {revision} {ratio:g}")

    def tell(self, document: Mapping[str, Any]) -> None:
        if self.away:
            raise Away("it is away")
        self.told.append(dict(document))

    def restarted(self) -> None:
        """As `teapot serve` is after a restart: with its own file alone."""
        self.rows = {"main": Revision("ready", "/old.yaml", 1.0)}
        self.replaced = {}

    def _call(self, words: str) -> None:
        if self.away:
            raise Away("it is away")
        self.before(words)
        self.calls.append(words)
