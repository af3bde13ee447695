"""What is asked, as types: the section `prompts` of the workload file.

Owns: the kinds of prompts with their keys and defaults. Knows nothing about how a prompt is made, about
files or about the target.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from loadgen.workload_arrivals import TraceFormat
from loadgen.workload_files import FileSection
from loadgen.workload_lengths import Length, Tokens
from serving.config.schema import Section
from serving.config.units import Duration

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


class RandomTokens(Section):
    """Prompts of random words with an exact number of tokens, chat template included."""

    kind: Literal["random_tokens"]
    input_tokens: Length
    output_tokens: Length | None = None


class PromptSet(Section):
    """Prompts written for this project, taken in turn from each of `kinds`."""

    kind: Literal["prompt_set"]
    # Not strict: behind a validator pydantic sees Python, not JSON, and then a list is no tuple.
    kinds: Annotated[tuple[PromptKind, ...], Field(strict=False)] = PROMPT_KINDS
    output_tokens: Length | None = None

    @model_validator(mode="after")
    def _has_a_kind(self) -> PromptSet:
        if not self.kinds:
            raise ValueError("has no kinds; name one or leave 'kinds' out for all of them")
        return self


class SharedPrefix(Section):
    """Groups of prompts that begin alike: `prefix_tokens` of the group, then words of their own.

    A prompt costs prefix_tokens + suffix_tokens, chat template included.
    """

    kind: Literal["shared_prefix"]
    groups: Annotated[int, Field(gt=0)]
    prefix_tokens: Tokens
    suffix_tokens: Length
    output_tokens: Length | None = None
    skew: Annotated[float, Field(ge=0)] = 0.0
    """Exponent of Zipf's law: group k (from 1) is asked in proportion to 1 / k**skew; 0 is evenly."""


class MultiTurn(Section):
    """Conversations of random words whose context grows with the answers that really come."""

    kind: Literal["multi_turn"]
    turns: Annotated[int, Field(gt=0)]
    input_tokens: Length
    """New words of each turn; the first turn's include the chat template."""
    output_tokens: Length | None = None
    think: Duration = 0.0
    """Between the end of an answer and the next turn."""


class ShareGpt(FileSection):
    """Conversations of a file in ShareGPT's form, with answers asked as long as the file's own."""

    kind: Literal["sharegpt"]
    file: str
    turns: Annotated[int, Field(gt=0)] = 1
    """At most so many turns of each conversation."""
    output_tokens: Length | None = None
    """None: as many as the file's own answer has, by the target's tokenizer."""
    think: Duration = 0.0


class TracePrompts(FileSection):
    """A request for each row of a trace, with its lengths, shared prefixes or body."""

    kind: Literal["trace"]
    file: str
    format: TraceFormat = "auto"
    rows: Annotated[int, Field(gt=0)] | None = None
    """Only so many rows from the top."""
    unfit_rows: Literal["refuse", "skip"] = "refuse"
    """Rows with a length of zero, or longer than the model takes."""
    block_tokens: Tokens = 512
    """Tokens that each of Mooncake's `hash_ids` stands for."""


OnePrompts = Annotated[
    RandomTokens | PromptSet | SharedPrefix | MultiTurn | ShareGpt | TracePrompts,
    Field(discriminator="kind"),
]


class Part(Section):
    """One of the kinds of a mix. A part of weight 3 is asked three times as often as one of weight 1."""

    weight: Annotated[float, Field(gt=0)]
    prompts: OnePrompts


class Mix(Section):
    """Several kinds of prompts, one of which is drawn for each request by weight."""

    kind: Literal["mix"]
    of: Annotated[tuple[Part, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _is_one(self) -> Mix:
        if len(self.of) < 2:
            raise ValueError("mixes nothing; list two parts, such as - {weight: 3, prompts: {kind: ...}}")
        return self


Prompts = Annotated[
    RandomTokens | PromptSet | SharedPrefix | MultiTurn | ShareGpt | TracePrompts | Mix,
    Field(discriminator="kind"),
]


def parts(prompts: Prompts) -> tuple[OnePrompts, ...]:
    """The kinds inside: those of a mix, else the one."""
    return tuple(part.prompts for part in prompts.of) if isinstance(prompts, Mix) else (prompts,)
