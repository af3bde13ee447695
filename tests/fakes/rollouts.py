"""A rollout against a running stack of scripted engines, with times and gates that a test can wait for.

Owns: the plan, the controller in a thread, and what became of it. Knows nothing about what a test expects.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fakes.revisions import PATIENCE_S, Running

from deploy.rollout import asking, telling
from deploy.rollout.client import Admin
from deploy.rollout.controller import Controller, Talk
from deploy.rollout.entries import begun, replay
from deploy.rollout.evidence import Quality
from deploy.rollout.journal import JOURNAL, Journal
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan, Step
from deploy.rollout.probing import warm
from deploy.rollout.seen import Engine
from deploy.rollout.watch import Watch
from serving.config.rollout import GatesSection
from serving.errors import Failed

WIDE = GatesSection(
    errors=0.2, aborts=0.2, failed_tries=0.2, missed=0.6, ttft=10, tpot=10, tail=0.9, finish_reasons=0.6,
    tokens=3, memory=0.9,
)  # fmt: skip
"""Some hundred requests are enough to be sure by these."""
SECTION: dict[str, Any] = {
    "steps": [{"weight": 50, "bake": "4s"}, {"weight": 100, "bake": "1s"}], "settle": "0s",
    "look_every": "1s", "min_requests": 60, "inconclusive": {"wait": "12s"}, "quality": False,
    "gates": WIDE.model_dump(),
}  # fmt: skip
"""The section `rollout` of a file that is rolled out whole within seconds."""


def plan_for(file: Path, baseline_file: Path, **changed: Any) -> Plan:
    """Half of the requests, then all, with an end that a test can wait for."""
    plan = Plan(
        deployment="scripted", canary="new", baseline="main", file=str(file), strategy="canary",
        steps=(Step(0.5, 1.5), Step(1.0, 0.5)), settle_s=0.1, look_every_s=0.1, min_requests=60, wait_s=24.0,
        gates=WIDE, quality=False, start_timeout_s=PATIENCE_S, baseline_file=str(baseline_file),
    )  # fmt: skip
    return replace(plan, **changed)


@dataclass(slots=True)
class FakeHands:
    """Plans nothing, warms really, and says of answers what it was told to say."""

    refusal: str | None = None
    quality: Quality | None = None
    compared: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    warming: Callable[[tuple[str, ...]], object] = warm

    def plan(self, plan: Plan) -> None:
        if self.refusal is not None:
            raise Failed(self.refusal)

    def warm(self, urls: tuple[str, ...]) -> None:
        self.warming(urls)

    def compare(self, plan: Plan, engines: tuple[Engine, ...], baseline: str) -> Quality:
        self.compared.append((tuple(engine.url for engine in engines), baseline))
        assert self.quality is not None
        return self.quality


@dataclass(slots=True)
class Rollout:
    """One rollout of a stack. `start` again goes on with it, as the command does."""

    up: Running
    plan: Plan
    folder: Path
    hands: FakeHands = field(default_factory=FakeHands)
    said: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    make_journal: Callable[[Path], Journal] = Journal
    change: dict[str, Any] = field(default_factory=dict)
    """Of the controller's fields."""

    @property
    def journal(self) -> Journal:
        return Journal(self.folder / JOURNAL)

    @property
    def state(self) -> State:
        """As the journal has it."""
        found = replay(self.journal.lines())
        return State() if found is None else found.state

    @property
    def states(self) -> list[str]:
        """All that it went through."""
        return [line["state"]["name"] for line in self.journal.lines() if line["kind"] == "state"]

    def controller(self) -> Controller:
        journal = self.make_journal(self.folder / JOURNAL)
        if not journal.lines():
            journal.append(begun(self.plan, at_s=time.time()))
        found = replay(journal.lines())
        assert found is not None
        made = Controller(
            self.plan, found.state, journal, Admin(self.up.admin), self.hands,
            Watch.resumed(self.plan, journal, journal.lines()),
            Talk(self.said.append, lambda text: None, self.verdicts.append),
            lambda: asking.take(self.folder), tick_s=0.02,
        )  # fmt: skip
        for name, value in self.change.items():
            setattr(made, name, value)
        return made

    async def run(self) -> int:
        """To its end; returns the exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.to_thread(self.controller().run)

    async def reaches(self, name: str) -> None:
        """Wait until the journal says so."""
        deadline = time.monotonic() + PATIENCE_S
        while self.state.name != name:
            assert time.monotonic() < deadline, self.story()
            await asyncio.sleep(0.02)

    def story(self) -> str:
        """All of it in words, for a test that fails."""
        lines = self.journal.lines()
        looks = [line for line in lines if line["kind"] == "look"]
        last = telling.table(looks[-1]) if looks else ()
        return "\n".join([*telling.shown(self.plan, lines), *last, *self.said])

    def look(self) -> dict[str, Any]:
        """The last look in the journal."""
        return [dict(line) for line in self.journal.lines() if line["kind"] == "look"][-1]


class Killed(BaseException):
    """The controller's process is gone."""


def killing(seen: threading.Event) -> Callable[[float], None]:
    """A sleep that never comes back once the event is set."""

    def sleep(seconds: float) -> None:
        if seen.wait(seconds):
            raise Killed

    return sleep
