"""The looks at a step: the window that they judge, and the evidence of it.

Owns: when a window begins, what it is compared with, and that every look is in the journal. Knows nothing
about what follows from a verdict, or how numbers are had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.rollout.entries import looked, opened
from deploy.rollout.evidence import Broken, Evidence, Health, Quality, Reading, Side, Values, parts, side
from deploy.rollout.gate import Judgement, judge, next_look
from deploy.rollout.journal import Journal
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan
from deploy.rollout.seen import Row, Seen
from deploy.rollout.sources import Memory, Source

Window = tuple[Reading, Reading]
"""Canary and baseline at its beginning."""


@dataclass(frozen=True, slots=True)
class Looked:
    """One look, and whether it may pass the step."""

    judgement: Judgement
    decisive: bool
    requests: int


@dataclass(slots=True)
class Watch:
    """The looks of one rollout."""

    plan: Plan
    journal: Journal
    quality: Quality | None = None
    looks: dict[str, int] = field(default_factory=dict)
    """By verdict."""
    last: Looked | None = None
    unopposed: bool = False
    """The old revision was lost on the way: what it did at its end is nothing to be held against."""
    failing: bool = False
    """A look said FAIL and could not be kept."""
    _windows: list[tuple[int | None, Window]] = field(default_factory=list)
    """Each with the step that it is of; None: it was opened before the first."""
    _read_at: list[Window] = field(default_factory=list)
    """The readings of this window by this process."""
    _looked: list[tuple[float, bool]] = field(default_factory=list)
    """When the looks were, and whether they decided."""

    @classmethod
    def resumed(cls, plan: Plan, journal: Journal, lines: tuple[Mapping[str, Any], ...]) -> Watch:
        """The watch of a journal's lines."""
        watch = cls(plan, journal)
        step: int | None = None
        for line in lines:
            if line["kind"] == "window":
                watch._windows.append((step, (Reading(**line["canary"]), Reading(**line["baseline"]))))
            elif line["kind"] == "state":
                step = line["state"]["step"]
                watch.unopposed |= line["event"] == "lost"
            elif line["kind"] == "quality":
                watch.quality = Quality(line["outcome"], tuple(line["reasons"]))
            elif line["kind"] == "look":
                watch._count(line["verdict"], line["at"], line["decided"])
        return watch

    def begin(self, source: Source, seen: Seen, now_s: float) -> None:
        """Note what both have counted before a request moves. Raises: Failed."""
        self._open(None, source, seen, now_s)

    def compared(self, quality: Quality, now_s: float) -> None:
        """Keep what the comparison of answers said. Raises: Failed."""
        reasons = list(quality.reasons)
        self.journal.append({"at": now_s, "kind": "quality", "outcome": quality.outcome, "reasons": reasons})
        self.quality = quality

    def look(self, state: State, source: Source, seen: Seen, now_s: float) -> Looked | None:
        """The look that is due, judged and kept; None: none is due yet. Raises: Failed."""
        if state.window_s is None or now_s < state.window_s:
            return None
        if self._lent(state, seen, now_s):
            return None
        if not self._windows or not state.window_s <= self._windows[-1][1][0].at_s <= now_s:
            self._open(state.step, source, seen, now_s)
            return None
        mine = [row for row in self._looked if state.window_s <= row[0] <= now_s]
        last_s, decided = mine[-1][0] if mine else None, sum(row[1] for row in mine)
        due = next_look(state, self.plan, last_s=last_s, decided=decided, now_s=now_s)
        if due is None:
            return None
        evidence = self._evidence(state, source, seen, now_s)
        if evidence is None:
            return None
        judgement = judge(evidence, self.plan, due)
        decisive = due.pass_tail is not None
        self.failing = judgement.verdict == "FAIL"
        self.journal.append(looked(judgement, evidence, self.plan, decisive=decisive))
        self.failing = False
        self._count(judgement.verdict, now_s, judgement.decided)
        self.last = Looked(judgement, decisive, evidence.canary.n)
        return self.last

    def _lent(self, state: State, seen: Seen, now_s: float) -> bool:
        """Whether the canary answers the baseline's requests too, as its engines are started again.

        Then it is slower for that, and the window begins anew when they are back.
        """
        row, alone = seen.row(self.plan.baseline), self.plan.steps[state.step or 0].weight_ratio >= 1
        if alone or row is None or row.answers:
            return False
        if self._windows and self._windows[-1][1][0].at_s >= (state.window_s or 0.0):
            text = (
                f"no engine of '{row.name}' is ready, so the new one answers for it; the window begins anew"
            )
            self.journal.append({"at": now_s, "kind": "note", "text": text})
            self._windows.pop()
        return True

    def _count(self, verdict: str, at_s: float, decided: bool) -> None:
        name = verdict.lower()
        self.looks[name] = self.looks.get(name, 0) + 1
        self._looked.append((at_s, decided))

    def _open(self, step: int | None, source: Source, seen: Seen, now_s: float) -> None:
        window = self._read(source, seen, now_s)
        self.journal.append(opened(*window))
        self._windows.append((step, window))
        self._read_at = []

    def _read(self, source: Source, seen: Seen, now_s: float) -> Window:
        canary, baseline = (source.read(seen, name, now_s) for name in (self.plan.canary, self.plan.baseline))
        return canary, baseline

    def _evidence(self, state: State, source: Source, seen: Seen, now_s: float) -> Evidence | None:
        """None: a counter began anew in the window, which therefore begins anew too."""
        begin, end = self._windows[-1][1], self._read(source, seen, now_s)
        memory = source.memory(begin[0].at_s, now_s)
        alone = self.plan.steps[state.step or 0].weight_ratio >= 1
        try:
            canary = side(begin[0], end[0])
            baseline = self._before(state.step) if alone else side(begin[1], end[1])
            self._read_at.append(end)
            between = parts((begin, *self._read_at))
        except Broken as error:
            self.journal.append({"at": now_s, "kind": "note", "text": f"{error}; the window begins anew"})
            self._open(state.step, source, seen, now_s)
            return None
        return Evidence(
            start_s=begin[0].at_s,
            end_s=now_s,
            canary=canary,
            baseline=baseline,
            concurrent=not alone,
            parts=between,
            health=self._health(end[0], seen, memory),
            targets=end[0].counts.get("targets", {}),
            quality=self.quality if self.plan.quality else None,
        )

    def _before(self, step: int | None) -> Side | None:
        """The baseline while it still had requests: in the last window of the step before this one."""
        earlier = [window for at, window in self._windows if at != step]
        if not earlier or self.plan.strategy == "replace" or self.unopposed:
            return None
        first = next(window for at, window in self._windows if at == step)
        try:
            return side(earlier[-1][1], first[1])
        except Broken:
            return None  # It was started anew between them, so what it did is not known.

    def _health(self, end: Reading, seen: Seen, memory: Memory) -> Health:
        row = seen.row(self.plan.canary)
        told = end.counts.get("failures")
        return Health(
            failures=None if told is None else sum(told.values()),
            ready=None if row is None else sum(engine.ready for engine in row.engines),
            engines=0 if row is None else len(row.engines),
            unwell={} if row is None else _unwell(row, told or {}),
            modes={} if row is None else row.modes,
            memory_bytes=memory,
        )


def _unwell(row: Row, failures: Values) -> dict[str, str]:
    """What is wrong with which engine, where there are several to tell apart."""
    found = {}
    for engine in row.engines if len(row.engines) > 1 else ():
        times = failures.get(engine.url, 0.0)
        words = [f"failed {times:g} times"] if times else []
        words += [] if engine.ready else ["is not ready"]
        if words:
            found[engine.url] = " and ".join(words)
    return found
