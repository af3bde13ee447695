"""The workload file as types: what is sent, when, and what is expected of the answers.

Owns: names, types, defaults and the fingerprint of the workload file, and which kinds this version
runs. Knows nothing about YAML, the target or how requests are made.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from serving.config.schema import Section, SloSection
from serving.config.units import Duration, Rate

LATER_ARRIVALS = ("gamma", "trace", "stages")
LATER_PROMPTS = ("shared_prefix", "multi_turn", "sharegpt", "trace")
OWNED_KEYS = ("model", "messages", "prompt", "stream", "stream_options", "n")
"""Keys of the request body that the load generator sets itself."""
ASSUMED_ANSWERS_PER_SLOT_S = 2.0
"""How many requests a second are prepared for each slot of a closed loop that is bounded by time only."""

PromptKind = Literal["chat", "code", "summarise", "translate", "maths", "extraction", "story", "repeat"]
PROMPT_KINDS: tuple[PromptKind, ...] = (
    "chat",
    "code",
    "summarise",
    "translate",
    "maths",
    "extraction",
    "story",
    "repeat",
)


class Bounded(Section):
    """An arrival that ends after a time, or after a number of requests, whichever comes first."""

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
    rate: Annotated[Rate, Field(gt=0)]


class Poisson(Bounded):
    """Open loop, exponential gaps (coefficient of variation 1)."""

    process: Literal["poisson"]
    rate: Annotated[Rate, Field(gt=0)]


class Closed(Bounded):
    """Closed loop: each of `concurrency` slots sends its next request when its last has ended."""

    process: Literal["closed"]
    concurrency: Annotated[int, Field(gt=0)]

    def prepared_requests(self) -> int:
        """How many requests the timetable holds; more cannot be sent even if the answers are faster."""
        if self.requests is not None:
            return self.requests
        assert self.duration is not None  # _has_an_end
        return max(self.concurrency, math.ceil(self.concurrency * self.duration * ASSUMED_ANSWERS_PER_SLOT_S))


class Warmup(Section):
    """Requests sent before the measurement; they are recorded apart and counted nowhere."""

    requests: Annotated[int, Field(ge=0)] = 0


class RandomTokens(Section):
    """Prompts of random words with an exact number of tokens, chat template included."""

    kind: Literal["random_tokens"]
    input_tokens: Annotated[int, Field(gt=0)]
    output_tokens: Annotated[int, Field(gt=0)] | None = None


class PromptSet(Section):
    """Prompts written for this project, taken in turn from each of `kinds`."""

    kind: Literal["prompt_set"]
    # Not strict: behind a validator pydantic sees Python, not JSON, and then a list is no tuple.
    kinds: Annotated[tuple[PromptKind, ...], Field(strict=False)] = PROMPT_KINDS
    output_tokens: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _has_a_kind(self) -> PromptSet:
        if not self.kinds:
            raise ValueError("has no kinds; name one or leave 'kinds' out for all of them")
        return self


class Sampling(BaseModel):
    """Keys of the request body. Keys that are not named here pass through as they are."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    ignore_eos: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _leaves_what_is_ours(cls, value: Any) -> Any:
        for key in OWNED_KEYS if isinstance(value, Mapping) else ():
            if key in value:
                raise ValueError(f"'{key}' is set by the load generator; remove it")
        return value

    def body(self) -> dict[str, Any]:
        """The keys that were given, for the request body."""
        return self.model_dump(exclude_none=True)


def _only_what_runs(key: str, *, runs: tuple[str, ...], later: tuple[str, ...]) -> BeforeValidator:
    """Refuse kinds that the contract names and this version does not run, in words of their own."""

    def check(value: Any) -> Any:
        asked = value.get(key) if isinstance(value, Mapping) else None
        if asked is None and isinstance(value, Mapping):
            asked = next((name for name in later if name in value), None)
        if asked in later:
            raise ValueError(f"'{asked}' is not there yet; this version runs {', '.join(runs)}")
        return value

    return BeforeValidator(check)


Arrival = Annotated[
    Annotated[Constant | Poisson | Closed, Field(discriminator="process")],
    _only_what_runs("process", runs=("constant", "poisson", "closed"), later=LATER_ARRIVALS),
]
Prompts = Annotated[
    Annotated[RandomTokens | PromptSet, Field(discriminator="kind")],
    _only_what_runs("kind", runs=("random_tokens", "prompt_set"), later=LATER_PROMPTS),
]


class Workload(Section):
    """One workload: arrivals, prompts, sampling, objectives and the seed that fixes them."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    endpoint: Literal["chat", "completions"] = "chat"
    model: str | None = None
    """None: the first model that the target lists."""
    arrival: Arrival
    warmup: Warmup = Warmup()
    prompts: Prompts
    sampling: Sampling = Sampling()
    slo: SloSection = SloSection()
    seed: int = 1

    @model_validator(mode="after")
    def _says_the_length_once(self) -> Workload:
        here, there = self.prompts.output_tokens, self.sampling.max_tokens
        if here is None and there is None:
            raise ValueError("the answers have no length; give prompts.output_tokens")
        if here is not None and there is not None and here != there:
            raise ValueError(
                f"prompts.output_tokens is {here} and sampling.max_tokens is {there}; give one of them"
            )
        return self

    @property
    def path(self) -> str:
        """The path of the endpoint on the target."""
        return "/v1/chat/completions" if self.endpoint == "chat" else "/v1/completions"

    @property
    def max_tokens(self) -> int:
        """The longest answer asked for, in tokens."""
        tokens = self.prompts.output_tokens or self.sampling.max_tokens
        assert tokens is not None  # _says_the_length_once
        return tokens

    def normalized(self) -> dict[str, Any]:
        """Every field with its default, in units of seconds: what two runs must share to be compared."""
        return self.model_dump(mode="json")

    def fingerprint(self) -> str:
        """SHA-256 of what is sent, when: equal for equal work, whatever its name and its objectives."""
        apart = ("name", "slo")
        content = {key: value for key, value in self.normalized().items() if key not in apart}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
