"""What one rollout is going to do, fixed before it begins and kept in its journal.

Owns: the plan, how it is made of two deployment files, and its JSON. Knows nothing about states, engines or
whether the new revision is any good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from serving.config.rollout import GatesSection, RolloutSection
from serving.config.schema import Deployment
from serving.errors import UsageError

Strategy = Literal["canary", "blue_green", "replace"]
OTHER_S = 600.0
"""For a state that has no time of its own in the file: warming and moving take seconds to minutes."""


@dataclass(frozen=True, slots=True)
class Step:
    """A share of the requests for the canary, and for how long it is watched."""

    weight_ratio: float
    bake_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One rollout. Names are those of revisions as the gateway has them."""

    deployment: str
    canary: str
    baseline: str
    file: str
    """The new deployment file, as it was given."""
    strategy: Strategy
    steps: tuple[Step, ...]
    shadow_s: float = 0.0
    settle_s: float = 10.0
    """After weights have moved, until requests count."""
    look_every_s: float = 30.0
    min_requests: int = 600
    wait_s: float = 1800.0
    then: Literal["rollback", "ask"] = "rollback"
    gates: GatesSection = field(default_factory=GatesSection)
    quality: bool = True
    on_rollback: Literal["finish", "cut"] = "finish"
    start_timeout_s: float = 1200.0
    baseline_file: str = ""
    """What the baseline's engines were started from, to bring them back where they had to make room."""
    file_sha256: str = ""
    """Of the new file as it was planned: what is written there later is another deployment."""

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON document."""
        return {**asdict(self), "gates": self.gates.model_dump()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        """The plan that `to_json` told. Raises: KeyError, TypeError, ValueError on another document."""
        return cls(
            **{
                **document,
                "steps": tuple(Step(**step) for step in document["steps"]),
                "gates": GatesSection(**document["gates"]),
            }
        )


def plan_of(new: Deployment, file: str, *, canary: str, baseline: str) -> Plan:
    """The plan for a new file beside a running revision.

    Prefill and decode engines must match, so of a pair no share can be mixed: it goes over as a whole.

    Raises: UsageError where the names are the same.
    """
    if canary == baseline:
        raise UsageError(
            f"the new revision would be called '{canary}', as the running one is",
            where=f"{file}: revisions",
            fix="give it another name: revisions: [{name: v2}]",
        )
    section = new.rollout
    pair = any(mode.kind == "disaggregated" for mode in new.modes)
    strategy: Strategy = "blue_green" if pair and section.strategy == "canary" else section.strategy
    return Plan(
        deployment=new.name,
        canary=canary,
        baseline=baseline,
        file=file,
        strategy=strategy,
        steps=_steps(section, strategy),
        shadow_s=0.0 if strategy == "replace" else section.shadow,
        settle_s=section.settle,
        look_every_s=section.look_every,
        min_requests=section.min_requests,
        wait_s=section.inconclusive.wait,
        then=section.inconclusive.then,
        gates=section.gates,
        quality=section.quality,
        on_rollback=section.on_rollback,
        start_timeout_s=new.engine.start_timeout,
    )


def _steps(section: RolloutSection, strategy: Strategy) -> tuple[Step, ...]:
    steps = tuple(Step(step.weight / 100, step.bake) for step in section.steps)
    return steps if strategy == "canary" else (Step(1.0, steps[-1].bake_s),)
