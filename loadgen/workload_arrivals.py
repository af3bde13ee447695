"""When requests come, as types: the section `arrival` of the workload file.

Owns: the arrival processes with their keys, defaults and bounds. Knows nothing about how times are
drawn, about files or about who sends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, computed_field, model_validator

from loadgen.workload_files import FileSection
from serving.config.schema import Section
from serving.config.units import Duration, Rate

ASSUMED_ANSWERS_PER_SLOT_S = 2.0
"""How many requests a second are prepared for each slot of a closed loop that is bounded by time only."""
Positive = Annotated[Rate, Field(gt=0)]
Gaps = Literal["constant", "poisson", "gamma"]
TraceFormat = Literal["auto", "plain", "mooncake", "burstgpt", "azure"]


class Bounded(Section):
    """An arrival that ends after a time, or after a number of arrivals, whichever comes first."""

    duration: Annotated[Duration, Field(gt=0)] | None = None
    requests: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> Bounded:
        if self.duration is None and self.requests is None:
            raise ValueError("has no end; give 'duration: 60s' or 'requests: 100'")
        return self


class Constant(Bounded):
    """Open loop, equal gaps (coefficient of variation 0)."""

    process: Literal["constant"]
    rate: Positive


class Poisson(Bounded):
    """Open loop, exponential gaps (coefficient of variation 1)."""

    process: Literal["poisson"]
    rate: Positive


class Gamma(Bounded):
    """Open loop, gamma gaps of shape `burstiness` (coefficient of variation 1 / sqrt(burstiness)).

    The word and its meaning are those of `vllm bench serve`: 1 is Poisson, less comes in bursts.
    """

    process: Literal["gamma"]
    rate: Positive
    burstiness: Annotated[float, Field(gt=0)]


class Closed(Bounded):
    """Closed loop: each of `concurrency` slots sends its next request when its last has ended."""

    process: Literal["closed"]
    concurrency: Annotated[int, Field(gt=0)]

    def prepared_requests(self) -> int:
        """How many requests the timetable holds; more cannot be sent even if the answers are faster."""
        if self.requests is not None:
            return self.requests
        assert self.duration is not None  # _has_an_end
        return _prepared(self.concurrency, self.duration)


class TraceTimes(FileSection):
    """Open loop, times from a file's rows; without `file`, from the rows of `prompts: {kind: trace}`."""

    process: Literal["trace"]
    file: str | None = None
    format: TraceFormat = "auto"
    speed: Annotated[float, Field(gt=0)] = 1.0
    """2 plays the file in half of its time."""
    duration: Annotated[Duration, Field(gt=0)] | None = None
    requests: Annotated[int, Field(gt=0)] | None = None


class Stage(Section):
    """A part of a run: a steady rate, a ramp from one rate to another, or a number of slots."""

    duration: Annotated[Duration, Field(gt=0)]
    rate: Annotated[Rate, Field(ge=0)] | None = None
    """`0/s` is a pause."""
    from_rate: Annotated[Rate, Field(ge=0)] | None = None
    to_rate: Annotated[Rate, Field(ge=0)] | None = None
    concurrency: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Stage:
        ramp = self.from_rate is not None and self.to_rate is not None
        half = (self.from_rate is None) != (self.to_rate is None)
        if half or (self.rate is not None) + ramp + (self.concurrency is not None) != 1:
            raise ValueError(
                "says not one thing; give rate, or from_rate and to_rate, or concurrency, and a duration"
            )
        return self

    @property
    def rates(self) -> tuple[float, float]:
        """Requests a second at the begin and at the end; (0, 0) for a closed stage."""
        if self.rate is not None:
            return self.rate, self.rate
        return self.from_rate or 0.0, self.to_rate or 0.0


class Stages(Section):
    """Stages one after the other, all of them open (rates) or all of them closed (concurrency)."""

    process: Literal["stages"] = "stages"
    gaps: Gaps = "poisson"
    burstiness: Annotated[float, Field(gt=0)] = 1.0
    """Of `gaps: gamma`."""
    # Not strict: behind a validator pydantic sees Python, not JSON, and then a list is no tuple.
    stages: Annotated[tuple[Stage, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _is_one_loop(self) -> Stages:
        if not self.stages:
            raise ValueError("has no stages; list them, such as - {rate: 2/s, duration: 30s}")
        if len({stage.concurrency is None for stage in self.stages}) > 1:
            raise ValueError("mixes rates and concurrency; make two workloads of it")
        if not self.closed and not any(sum(stage.rates) for stage in self.stages):
            raise ValueError("sends nothing; give at least one stage a rate above 0/s")
        if "burstiness" in self.model_fields_set and self.gaps != "gamma":
            raise ValueError("has a burstiness that is not used; add 'gaps: gamma' or leave it out")
        return self

    @property
    def closed(self) -> bool:
        """Whether the stages are numbers of slots."""
        return self.stages[0].concurrency is not None

    @computed_field
    def duration(self) -> float:
        """The sum of the stages, in seconds."""
        return sum(stage.duration for stage in self.stages)

    @computed_field
    def rate(self) -> float | None:
        """Requests a second over all stages; None for closed ones."""
        if self.closed:
            return None
        expected = sum(sum(stage.rates) / 2 * stage.duration for stage in self.stages)
        return expected / sum(stage.duration for stage in self.stages)

    def prepared_requests(self) -> int:
        """How many requests the timetable of closed stages holds."""
        return sum(_prepared(stage.concurrency or 0, stage.duration) for stage in self.stages)


def _prepared(slots: int, duration_s: float) -> int:
    return max(slots, math.ceil(slots * duration_s * ASSUMED_ANSWERS_PER_SLOT_S))


def _named(value: Any) -> Any:
    """Take `arrival: {stages: [...]}` for what it can only mean."""
    if isinstance(value, Mapping) and "stages" in value and "process" not in value:
        return {"process": "stages", **value}
    return value


Arrival = Annotated[
    Annotated[Constant | Poisson | Gamma | TraceTimes | Closed | Stages, Field(discriminator="process")],
    BeforeValidator(_named),
]
