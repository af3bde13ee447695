"""Speculative decoding: tokens are drafted cheaply and accepted or refused by the model in one step.

Owns: the fields of the mode, which of them a method needs, and the JSON they become. Knows nothing
about drafting itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from serving.modes.mode import EngineContext, Mode

Positive = Annotated[int, Field(gt=0)]
_NEED_A_MODEL = frozenset({"draft_model", "eagle", "eagle3", "medusa"})


class Speculative(Mode):
    """Draft several tokens a step; the model accepts those it would have chosen itself."""

    summary: ClassVar[str] = "draft several tokens a step and keep those the model agrees with"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = ("--speculative-config",)
    works_on: ClassVar[str] = "ngram, draft_model: cpu, cuda, rocm; others: GPU"

    kind: Literal["speculative"] = "speculative"
    method: Literal["ngram", "ngram_gpu", "draft_model", "suffix", "eagle", "eagle3", "mtp", "medusa"] = (
        Field(description="who drafts")
    )
    tokens: Positive = Field(description="tokens drafted a step")
    model: str | None = Field(None, description="the drafting model: a local folder or a hub id")
    prompt_lookup_max: Positive | None = Field(
        None, description="ngram: longest n-gram looked up in the prompt"
    )
    prompt_lookup_min: Positive | None = Field(
        None, description="ngram: shortest n-gram looked up in the prompt"
    )

    @model_validator(mode="after")
    def _fields_fit_the_method(self) -> Speculative:
        by_ngram = self.method in ("ngram", "ngram_gpu")
        if self.method in _NEED_A_MODEL and self.model is None:
            raise ValueError(f"method {self.method} needs a `model` that drafts; add its folder or hub id")
        if by_ngram and self.model is not None:
            raise ValueError(f"method {self.method} drafts from the prompt; leave `model` out")
        if by_ngram and self.prompt_lookup_max is None:
            raise ValueError(f"method {self.method} needs `prompt_lookup_max`; 4 is a good start")
        if not by_ngram and (self.prompt_lookup_max or self.prompt_lookup_min):
            raise ValueError(f"method {self.method} looks up no prompt; leave `prompt_lookup_*` out")
        if (self.prompt_lookup_min or 1) > (self.prompt_lookup_max or self.prompt_lookup_min or 1):
            raise ValueError("prompt_lookup_min is above prompt_lookup_max; exchange them")
        return self

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """One flag, whose value is JSON."""
        config = {"method": self.method, "model": self.model, "num_speculative_tokens": self.tokens}
        config |= {"prompt_lookup_max": self.prompt_lookup_max, "prompt_lookup_min": self.prompt_lookup_min}
        given = {key: value for key, value in config.items() if value is not None}
        return (("--speculative-config", json.dumps(given, separators=(",", ":"))),)
