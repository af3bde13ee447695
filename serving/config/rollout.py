"""The section `rollout:` of a deployment file: how this file takes the place of the one that runs.

Owns: names, types and defaults of that section. Knows nothing about what is judged how (`deploy/rollout`).
A share is 0 to 1, a factor is canary by baseline, a weight is in percent as people say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from serving.config.section import Section
from serving.config.units import Duration

Share = Annotated[float, Field(gt=0, lt=1)]
Factor = Annotated[float, Field(gt=1, le=10)]


class StepSection(Section):
    """A share of the requests, and for how long it is watched before the next."""

    weight: Annotated[float, Field(gt=0, le=100)]
    bake: Duration = 600.0


class InconclusiveSection(Section):
    """What happens where there is too little to tell."""

    wait: Duration = 1800.0
    then: Literal["rollback", "ask"] = "rollback"


class GatesSection(Section):
    """How much worse than the baseline the new revision must be excluded to be."""

    errors: Share = 0.02
    aborts: Share = 0.03
    failed_tries: Share = 0.03
    missed: Share = 0.05
    ttft: Factor = 1.3
    tpot: Factor = 1.3
    tail: Share = 0.1
    finish_reasons: Share = 0.15
    tokens: Factor = 1.3
    memory: Share = 0.05


class RolloutSection(Section):
    """How a new revision takes over."""

    strategy: Literal["canary", "blue_green", "replace"] = "canary"
    steps: Annotated[tuple[StepSection, ...], Field(min_length=1, max_length=20)] = (
        StepSection(weight=1),
        StepSection(weight=10),
        StepSection(weight=50),
        StepSection(weight=100),
    )
    shadow: Duration = 0.0
    settle: Duration = 10.0
    look_every: Duration = 30.0
    min_requests: Annotated[int, Field(ge=1)] = 600
    inconclusive: InconclusiveSection = InconclusiveSection()
    gates: GatesSection = GatesSection()
    quality: bool = True
    on_rollback: Literal["finish", "cut"] = "finish"


def rollout_problems(section: RolloutSection) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """What does not go together: path, what is wrong, what to do."""
    steps = section.steps
    for index in range(1, len(steps)):
        if steps[index].weight <= steps[index - 1].weight:
            what = f"{steps[index].weight:g} is not more than the step before"
            yield ("rollout", "steps", index, "weight"), what, "write the steps in rising order"
    if steps[-1].weight != 100:
        what = f"the last step ends at {steps[-1].weight:g} %"
        yield ("rollout", "steps"), what, "end with a step of weight 100"
    if section.look_every < 1:
        what = f"{section.look_every:g} s is too often"
        yield ("rollout", "look_every"), what, "look once a second at most, such as look_every: 30s"
