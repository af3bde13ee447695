"""What the charts look at: a study, or the part of it that has one model.

Owns: finding the arms, figures and settings that a chart asks for. Knows nothing about drawing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deploy.study.results import Figure, Summary
from deploy.study.rows import Arm, Design, StartRow


@dataclass(frozen=True, slots=True)
class Spec:
    """How an arm speculates."""

    method: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Shape:
    """A workload with a fixed number of users and fixed lengths."""

    users: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A study as the page shows it; `model` None is the whole."""

    design: Design
    summary: Summary
    starts: tuple[StartRow, ...] = ()
    model: str | None = None

    def models(self) -> tuple[str, ...]:
        """The models of the arms that were to run, in their order."""
        return tuple(dict.fromkeys(arm.model for arm in self.design.arms if arm.runs))

    def only(self, model: str) -> View:
        """The part with one model."""
        return replace(self, model=model)

    def arms(self) -> tuple[Arm, ...]:
        """The arms that were to run, of the model that is looked at."""
        return tuple(arm for arm in self.design.arms if arm.runs and self.model in (None, arm.model))

    def look(self, arm: str) -> int:
        """The number of an arm's colour and marker: 0 for the control, the same in every chart."""
        others = [row.name for row in self.design.arms if row.name != self.design.control]
        return 0 if arm == self.design.control else 1 + others.index(arm)

    def workloads(self) -> tuple[str, ...]:
        """Those that send load."""
        return tuple(self.design.workloads)

    def figure(self, measure: str, arm: str, workload: str | None = None) -> Figure | None:
        """One measure of an arm."""
        row = self.summary.find(measure, arm=arm, workload=workload)
        return row.figure if row else None

    def measured(self, measure: str, workload: str | None = None) -> Iterator[tuple[Arm, Figure]]:
        """A measure of every arm looked at that has it."""
        for arm in self.arms():
            figure = self.figure(measure, arm.name, workload)
            if figure is not None:
                yield arm, figure

    def quality(self, arm: str) -> Mapping[str, Any] | None:
        """The first verdict on an arm's answers."""
        return next((row for row in self.summary.quality if row.get("arm") == arm), None)

    def shape(self, workload: str) -> Shape | None:
        """Users and lengths; None where a workload has not one of each."""
        settings = self.design.workloads[workload]
        arrival, prompts = settings.get("arrival") or {}, settings.get("prompts") or {}
        found = arrival.get("concurrency"), prompts.get("input_tokens"), prompts.get("output_tokens")
        users, *lengths = found
        fixed = [length for length in lengths if isinstance(length, int)]
        if arrival.get("process") != "closed" or not isinstance(users, int) or len(fixed) < 2:
            return None
        return Shape(users, *fixed)

    def batches(self) -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
        """Workloads that differ only in their users: (their lengths in words, (users, name), ...)."""
        alike: dict[str, list[tuple[int, str]]] = {}
        words = {}
        for name in self.workloads():
            shape = self.shape(name)
            if shape is None:
                continue
            prompts = json.dumps(self.design.workloads[name]["prompts"], sort_keys=True)
            alike.setdefault(prompts, []).append((shape.users, name))
            words[prompts] = f"{shape.input_tokens:,} tokens in, {shape.output_tokens:,} out"
        for prompts, found in alike.items():
            yield words[prompts], tuple(sorted(found))


def spec(arm: Arm) -> Spec | None:
    """How an arm speculates; None where it does not."""
    mode = mode_of(arm, "speculative")
    if mode is None or not arm.drafted_tokens:
        return None
    return Spec(str(mode.get("method", "speculative")).replace("_", " "), arm.drafted_tokens)


def mode_of(arm: Arm, kind: str) -> Mapping[str, Any] | None:
    """A mode of an arm by its kind."""
    modes = arm.deployment.get("modes") or ()
    return next((mode for mode in modes if mode.get("kind") == kind), None)


def devices(arm: Arm) -> int:
    """Devices an arm uses: ranks of a copy, copies, both roles of a divided pair."""
    parallel, divided = mode_of(arm, "parallel") or {}, mode_of(arm, "disaggregated")
    ranks = int(parallel.get("tensor", 1)) * int(parallel.get("pipeline", 1)) * int(parallel.get("data", 1))
    if divided is not None:
        return ranks * (int(divided.get("prefill", 1)) + int(divided.get("decode", 1)))
    return ranks * int(arm.deployment.get("replicas") or 1)
