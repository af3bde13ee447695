"""The workload file as types: what is sent, when, and what is expected of the answers.

Owns: the whole of the workload file, what its sections ask of each other, and its fingerprint. Knows
nothing about YAML, the target or how requests are made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from loadgen.workload_arrivals import Arrival, TraceTimes
from loadgen.workload_files import without_places
from loadgen.workload_lengths import Fixed
from loadgen.workload_prompts import (
    MultiTurn,
    Prompts,
    RandomTokens,
    ShareGpt,
    TracePrompts,
    parts,
)
from serving.config.schema import Section, SloSection

Endpoint = Literal["chat", "completions", "responses", "embeddings"]
PATHS: Mapping[Endpoint, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "embeddings": "/v1/embeddings",
}
TEXT_KEYS: Mapping[Endpoint, str] = {
    "chat": "messages",
    "completions": "prompt",
    "responses": "input",
    "embeddings": "input",
}
"""The key of the body that holds what is asked."""
OWNED_KEYS = ("model", "messages", "prompt", "input", "stream", "stream_options", "n")
"""Keys of the request body that the load generator sets itself."""
Weight = Annotated[float, Field(gt=0)]


def _only_theirs(value: Any) -> Any:
    for key in OWNED_KEYS if isinstance(value, Mapping) else ():
        if key in value:
            raise ValueError(f"'{key}' is set by the load generator; remove it")
    return value


class Warmup(Section):
    """Requests sent before the measurement; they are recorded apart and counted nowhere."""

    requests: Annotated[int, Field(ge=0)] = 0


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
        return _only_theirs(value)

    def body(self) -> dict[str, Any]:
        """The keys that were given, for the request body."""
        return self.model_dump(exclude_none=True)


class Workload(Section):
    """One workload: arrivals, prompts, sampling, objectives and the seed that fixes them."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    endpoint: Endpoint = "chat"
    model: str | None = None
    """None: the first model that the target lists, or those of `models`."""
    models: dict[str, Weight] = Field(default_factory=dict)
    """Models or LoRA adapters, as the target names them, by how often each is asked."""
    arrival: Arrival
    warmup: Warmup = Warmup()
    prompts: Prompts
    sampling: Sampling = Sampling()
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """More keys of the request body, as they are: tools, response_format, structured_outputs, ..."""
    slo: SloSection = SloSection()
    seed: int = 1

    @field_validator("extra_body", mode="before")
    @classmethod
    def _leaves_what_is_ours(cls, value: Any) -> Any:
        return _only_theirs(value)

    @model_validator(mode="after")
    def _says_the_length_once(self) -> Workload:
        there = self.sampling.max_tokens
        for prompts in parts(self.prompts):
            here = None if isinstance(prompts, TracePrompts) else prompts.output_tokens
            tells_itself = isinstance(prompts, TracePrompts | ShareGpt)
            if self.endpoint == "embeddings":
                if here is not None or there is not None:
                    raise ValueError("embeddings have no answers to give a length; remove output_tokens")
            elif isinstance(prompts, ShareGpt) and here is None and there is not None:
                raise ValueError(
                    "the file says how long answers are; give prompts.output_tokens, not sampling.max_tokens"
                )
            elif here is None and there is None and not tells_itself:
                raise ValueError("the answers have no length; give prompts.output_tokens")
            elif there is not None and here is not None:
                if isinstance(here, Fixed) and here.tokens == there:
                    continue
                shown = here.tokens if isinstance(here, Fixed) else f"a {here.distribution} length"
                raise ValueError(
                    f"prompts.output_tokens is {shown} and sampling.max_tokens is {there}; give one of them"
                )
        return self

    @model_validator(mode="after")
    def _names_the_model_once(self) -> Workload:
        if self.model is not None and self.models:
            raise ValueError("has model and models; give one of them")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Workload:
        kinds = parts(self.prompts)
        turns = any(isinstance(p, MultiTurn) or (isinstance(p, ShareGpt) and p.turns > 1) for p in kinds)
        if turns and self.endpoint != "chat":
            raise ValueError(f"the endpoint {self.endpoint} has no turns; use 'endpoint: chat'")
        without = isinstance(self.arrival, TraceTimes) and self.arrival.file is None
        if without and not isinstance(self.prompts, TracePrompts):
            raise ValueError("arrival: trace has no file; give arrival.file, or prompts of kind trace")
        return self

    @property
    def path(self) -> str:
        """The path of the endpoint on the target."""
        return PATHS[self.endpoint]

    @property
    def one_length(self) -> tuple[int, int] | None:
        """Tokens of every prompt and of every answer; None where they are not all the same."""
        if not isinstance(self.prompts, RandomTokens):
            return None
        asked, answered = self.prompts.input_tokens, self.prompts.output_tokens
        tokens = answered.tokens if isinstance(answered, Fixed) else self.sampling.max_tokens
        if not isinstance(asked, Fixed) or tokens is None or not isinstance(answered, Fixed | None):
            return None
        return asked.tokens, tokens

    def normalized(self) -> dict[str, Any]:
        """Every field with its default, in units of seconds: what two runs must share to be compared."""
        return self.model_dump(mode="json")

    def fingerprint(self) -> str:
        """SHA-256 of what is sent, when: equal for equal work, whatever its name and its objectives."""
        apart = ("name", "slo")
        content = {key: value for key, value in self.normalized().items() if key not in apart}
        return hashlib.sha256(json.dumps(without_places(content), sort_keys=True).encode()).hexdigest()
