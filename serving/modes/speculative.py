"""Speculative decoding: tokens are drafted cheaply and accepted or refused by the model in one step.

Owns: the fields of the mode, which of them a method needs, the JSON they become, and the counters that show
drafts. Knows nothing about drafting itself, nor which methods a version has: the table of problems does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from serving.facts.load import engine_metrics
from serving.modes.mode import EngineContext, Mode, Observation, Verdict

Positive = Annotated[int, Field(gt=0)]
BY_NGRAM = frozenset({"ngram", "ngram_gpu"})
NEED_A_MODEL = frozenset({"draft_model", "eagle", "eagle3", "medusa"})
TAKE_A_MODEL = NEED_A_MODEL | {"mtp"}


class Speculative(Mode):
    """Draft several tokens a step; the model accepts those it would have chosen itself."""

    summary: ClassVar[str] = "draft several tokens a step and keep those the model agrees with"
    owns: ClassVar[Sequence[str]] = ("--speculative-config", "--spec-method", "--spec-model", "--spec-tokens")
    works_on: ClassVar[str] = (
        "ngram, draft_model: cpu, cuda, rocm; ngram_gpu, eagle, eagle3, mtp, suffix: cuda, rocm; "
        "medusa: cuda with vLLM before 0.33"
    )
    evidence: ClassVar[str] = "vllm:spec_decode_* counters moved: drafts, drafted and accepted tokens"

    kind: Literal["speculative"] = "speculative"
    method: Literal["ngram", "ngram_gpu", "draft_model", "suffix", "eagle", "eagle3", "mtp", "medusa"] = (
        Field(description="who drafts")
    )
    tokens: Positive = Field(description="tokens drafted a step; suffix: at most so many")
    model: str | None = Field(None, description="the drafting model: a local folder or a hub id")
    prompt_lookup_max: Positive | None = Field(
        None, description="ngram: longest n-gram looked up in the prompt"
    )
    prompt_lookup_min: Positive | None = Field(
        None, description="ngram: shortest n-gram looked up in the prompt"
    )
    draft_tensor: Positive | None = Field(None, description="tensor-parallel ranks of the draft")
    draft_max_model_len: Positive | None = Field(
        None, description="the draft's longest context; beyond it nothing is drafted"
    )

    @model_validator(mode="after")
    def _fields_fit_the_method(self) -> Speculative:
        by_ngram = self.method in BY_NGRAM
        if self.method in NEED_A_MODEL and self.model is None:
            raise ValueError(f"method {self.method} needs a `model` that drafts; add its folder or hub id")
        if by_ngram and self.model is not None:
            raise ValueError(f"method {self.method} drafts from the prompt; leave `model` out")
        if self.method == "suffix" and self.model is not None:
            raise ValueError("method suffix drafts from past answers; leave `model` out")
        if by_ngram and self.prompt_lookup_max is None:
            raise ValueError(f"method {self.method} needs `prompt_lookup_max`; 4 is a good start")
        if not by_ngram and (self.prompt_lookup_max or self.prompt_lookup_min):
            raise ValueError(f"method {self.method} looks up no prompt; leave `prompt_lookup_*` out")
        if (self.prompt_lookup_min or 1) > (self.prompt_lookup_max or self.prompt_lookup_min or 1):
            raise ValueError("prompt_lookup_min is above prompt_lookup_max; exchange them")
        if self.method not in TAKE_A_MODEL and (self.draft_tensor or self.draft_max_model_len):
            raise ValueError(f"method {self.method} has no drafting model; leave `draft_*` out")
        return self

    def asked(self) -> str:
        """The method, the tokens a step and the draft."""
        by = f" by {self.model}" if self.model else ""
        return f"{self.method}{by}, {self.tokens} tokens a step"

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """One flag, whose value is JSON."""
        model = context.paths.get(self.model, self.model) if self.model else None
        config = {"method": self.method, "model": model, "num_speculative_tokens": self.tokens}
        config |= {"prompt_lookup_max": self.prompt_lookup_max, "prompt_lookup_min": self.prompt_lookup_min}
        config |= {"draft_tensor_parallel_size": self.draft_tensor, "max_model_len": self.draft_max_model_len}
        given = {key: value for key, value in config.items() if value is not None}
        return (("--speculative-config", json.dumps(given, separators=(",", ":"))),)

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Tokens drafted in the probe show it; none in a repetitive prompt shows that nothing drafts."""
        metrics = engine_metrics()
        drafted = seen.moved(metrics["spec_decode_draft_tokens"].name)
        drafts = seen.moved(metrics["spec_decode_drafts"].name)
        accepted = seen.moved(metrics["spec_decode_accepted_tokens"].name)
        if drafted is None:
            evidence = f"{metrics['spec_decode_draft_tokens'].name} is not exposed: nothing drafts"
            return Verdict(self.kind, self.asked(), False if seen.after else None, evidence)
        if not drafted:
            # A model always drafts; a look-up drafts only where the prompt repeats what comes.
            in_effect = None if self.method in (*BY_NGRAM, "suffix") else False
            return Verdict(self.kind, self.asked(), in_effect, "no token was drafted in the probe")
        ratio = f"{accepted / drafted:.0%}" if accepted is not None else "unknown"
        kept = f"{accepted or 0:,.0f} accepted ({ratio})"
        evidence = f"{drafted:,.0f} tokens drafted in {drafts or 0:,.0f} drafts, {kept}"
        warnings = () if accepted else ("no drafted token was accepted: speculation only costs time here",)
        return Verdict(self.kind, self.asked(), True, evidence, warnings)
