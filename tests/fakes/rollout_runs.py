"""A rollout on a deployment that is only its admin interface, with verdicts from a list and its own clock.

Owns: the controller with all that it works with made up, but its journal and its table. Knows nothing about
what a test expects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.fake_deployment import Clock, FakeDeployment, Killed

from deploy.rollout.controller import Controller, Talk
from deploy.rollout.entries import begun, replay
from deploy.rollout.evidence import Quality, Reading
from deploy.rollout.finding import Finding, Verdict
from deploy.rollout.gate import Judgement
from deploy.rollout.journal import Journal
from deploy.rollout.machine import EventName
from deploy.rollout.plan import Plan, Step
from deploy.rollout.seen import Engine
from deploy.rollout.watch import Looked
from serving.errors import Failed

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.1, 30.0), Step(0.5, 30.0), Step(1.0, 30.0)), look_every_s=5.0, wait_s=60.0, quality=False,
    baseline_file="/old.yaml",
)  # fmt: skip
UP = ["begin new /new.yaml"]
MOVES = ["weigh main=0.9 new=0.1", "weigh main=0.5 new=0.5", "weigh new=1"]
BACK = ["weigh main=1", "end new finish"]


@dataclass(slots=True)
class Source:
    name: str = "a source"

    def read(self, seen: object, revision: str, at_s: float) -> Reading:
        raise NotImplementedError

    def memory(self, start_s: float, end_s: float) -> dict[str, tuple[float, ...]]:
        raise NotImplementedError


@dataclass(slots=True)
class Verdicts:
    """Stands for the watch: its looks are verdicts from a list, and PASS when that is at its end."""

    coming: Iterator[Verdict | Exception] = field(default_factory=lambda: iter(()))
    quality: Quality | None = None
    looks: dict[str, int] = field(default_factory=dict)
    last: Looked | None = None
    failing: bool = False
    unopposed: bool = False
    begun: int = 0

    def begin(self, source: Source, seen: object, now_s: float) -> None:
        self.begun += 1

    def compared(self, quality: Quality, now_s: float) -> None:
        self.quality = quality

    def look(self, state: Any, source: Source, seen: object, now_s: float) -> Looked | None:
        verdict = next(self.coming, "PASS")
        if isinstance(verdict, Exception):
            raise verdict
        judgement = Judgement(verdict, {"errors": Finding(verdict, "as told")}, 0.0, now_s, True)
        self.last = Looked(judgement, True, 1000)
        return self.last


@dataclass(slots=True)
class Hands:
    refusal: str | None = None
    cold: str | None = None
    quality: Quality | None = None

    def plan(self, plan: Plan) -> None:
        if self.refusal:
            raise Failed(self.refusal)

    def warm(self, urls: tuple[str, ...]) -> None:
        if self.cold:
            raise Failed(self.cold)

    def compare(self, plan: Plan, engines: tuple[Engine, ...], baseline: str) -> Quality:
        assert ([engine.url for engine in engines], baseline) == (["http://new"], "http://main")
        assert self.quality is not None
        return self.quality


@dataclass(slots=True)
class Run:
    """One rollout on a deployment, that can be begun again where its journal ends."""

    path: Path
    plan: Plan = PLAN
    there: FakeDeployment = field(default_factory=FakeDeployment)
    clock: Clock = field(default_factory=Clock)
    set_s: float = 0.0
    """By how much somebody has set the clock."""
    hands: Hands = field(default_factory=Hands)
    watch: Verdicts = field(default_factory=Verdicts)
    asked: Callable[[], EventName | None] = lambda: None
    said: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    write: Callable[[int, bytes], int] = os.write
    sync: Callable[[int], None] = os.fsync

    def controller(self) -> Controller:
        journal = Journal(self.path, write=self.write, sync=self.sync)
        if not journal.lines():
            Journal(self.path).append(begun(self.plan, at_s=self.clock()))
        found = replay(journal.lines())
        assert found is not None
        return Controller(
            self.plan, found.state, journal, self.there, self.hands, self.watch,
            Talk(self.said.append, lambda text: None, self.verdicts.append), self.asked, self.clock,
            self.steady, self.clock.sleep, sources=lambda seen, admin, plan: Source(),
        )  # fmt: skip

    def steady(self) -> float:
        return self.clock() - self.set_s

    def set_clock(self, by_s: float) -> None:
        """As a person or NTP does; no time passes."""
        self.clock.now_s += by_s
        self.set_s += by_s

    def go(self) -> int:
        return self.controller().run()

    @property
    def states(self) -> list[str]:
        return [row["state"]["name"] for row in Journal(self.path).lines() if row["kind"] == "state"]

    @property
    def state(self) -> str:
        return self.states[-1] if self.states else "planned"

    def why(self, state: str) -> str:
        """Why it came to a state, the first time."""
        rows = [row["state"] for row in Journal(self.path).lines() if row["kind"] == "state"]
        return str(next(row["why"] for row in rows if row["name"] == state))

    def why_last(self) -> str:
        """Why it is where it is."""
        return str([row["state"] for row in Journal(self.path).lines() if row["kind"] == "state"][-1]["why"])


def verdicts(*coming: Verdict | Exception) -> Verdicts:
    return Verdicts(iter(coming))


def at(run: Run, state: str, do: Callable[[], object]) -> Callable[[], None]:
    """Do something once, at the end of a tick in that state."""
    done = False

    def slept() -> None:
        nonlocal done
        if not done and run.state == state:
            done = True
            do()

    return slept


def dying(number: int) -> Callable[[int], None]:
    """A line gets onto the disk and nothing after it happens."""
    count = 0

    def sync(file: int) -> None:
        nonlocal count
        os.fsync(file)
        count += 1
        if count == number + 1:
            raise Killed

    return sync
