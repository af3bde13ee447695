"""From the section `prompts` of a workload to what makes the prompts.

Owns: the registry of kinds, and what a source is given. Knows nothing about files and targets: what was
read and how tokens are counted comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loadgen.lengths import Draw, drawer
from loadgen.prompts.exact_text import Writer
from loadgen.prompts.mix import MixSource
from loadgen.prompts.multi_turn import MultiTurnSource
from loadgen.prompts.prompt import Count, PromptSource
from loadgen.prompts.prompt_set import PromptSetSource
from loadgen.prompts.random_tokens import RandomTokensSource
from loadgen.prompts.shared_prefix import SharedPrefixSource
from loadgen.prompts.sharegpt import Exchange, ShareGptSource
from loadgen.prompts.trace import TraceSource
from loadgen.prompts.vocabulary import Vocabulary
from loadgen.traces.reading import Trace
from loadgen.workload_lengths import Length
from loadgen.workload_prompts import (
    Mix,
    MultiTurn,
    Prompts,
    PromptSet,
    RandomTokens,
    SharedPrefix,
    ShareGpt,
    TracePrompts,
    parts,
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the files of a workload hold, by the name of the file."""

    lengths: Mapping[str, Sequence[int]] = field(default_factory=dict)
    conversations: Mapping[str, Sequence[Sequence[Exchange]]] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)
    times: Trace | None = None
    """Of `arrival: {process: trace, file: ...}`."""


@dataclass(frozen=True, slots=True)
class Given:
    """What every source is made of."""

    seed: int | str
    salt: str
    number: int
    """How many prompts will be asked for."""
    vocabulary: Vocabulary
    count: Count | None
    texts: Mapping[str, Sequence[str]]
    inputs: Inputs

    def writer(self) -> Writer:
        """What writes texts of an exact length."""
        return Writer(self.vocabulary, self.count, self.seed, self.salt)

    def draw(self, length: Length, name: str) -> Draw:
        """What draws the lengths of prompts or answers."""
        return drawer(length, seed=self.seed, name=name, files=self.inputs.lengths)

    def outputs(self, length: Length | None) -> Draw | None:
        """What draws the lengths of answers; None where `sampling` says them."""
        return None if length is None else self.draw(length, "output")

    def part(self, number: int) -> Given:
        """The same for a part of a mix: no two parts may write the same texts."""
        return replace(self, seed=f"{self.seed}/part {number}", salt=f"{self.salt}/part {number}")


def source_of(prompts: Prompts, given: Given) -> PromptSource:
    """What makes the prompts of a workload. Raises: UsageError for lengths that cannot be drawn."""
    return _SOURCES[type(prompts)](prompts, given)


def needs_words(prompts: Prompts) -> bool:
    """Whether random words are asked for, for which the target's tokenizer must be learnt."""
    written = RandomTokens | SharedPrefix | MultiTurn | TracePrompts
    return any(isinstance(part, written) for part in parts(prompts))


def _random_tokens(prompts: RandomTokens, given: Given) -> PromptSource:
    lengths = given.draw(prompts.input_tokens, "input")
    return RandomTokensSource(given.writer(), lengths, given.outputs(prompts.output_tokens))


def _prompt_set(prompts: PromptSet, given: Given) -> PromptSource:
    outputs = given.outputs(prompts.output_tokens)
    return PromptSetSource(given.texts, prompts.kinds, given.salt, given.count, outputs)


def _shared_prefix(prompts: SharedPrefix, given: Given) -> PromptSource:
    return SharedPrefixSource(
        given.writer(),
        prompts.groups,
        prompts.prefix_tokens,
        prompts.skew,
        given.draw(prompts.suffix_tokens, "input"),
        given.outputs(prompts.output_tokens),
    )


def _multi_turn(prompts: MultiTurn, given: Given) -> PromptSource:
    lengths = given.draw(prompts.input_tokens, "input")
    outputs = given.outputs(prompts.output_tokens)
    return MultiTurnSource(given.writer(), prompts.turns, lengths, outputs, prompts.think)


def _sharegpt(prompts: ShareGpt, given: Given) -> PromptSource:
    return ShareGptSource(
        given.inputs.conversations[prompts.file],
        prompts.turns,
        given.salt,
        given.count,
        given.vocabulary.overhead_tokens,
        given.outputs(prompts.output_tokens),
        prompts.think,
    )


def _trace(prompts: TracePrompts, given: Given) -> PromptSource:
    return TraceSource(given.writer(), given.inputs.traces[prompts.file].rows, prompts.block_tokens)


def _mix(prompts: Mix, given: Given) -> PromptSource:
    sources = [source_of(part.prompts, given.part(n)) for n, part in enumerate(prompts.of)]
    weights = [part.weight for part in prompts.of]
    return MixSource.draw(sources, weights, number=given.number, seed=given.seed)


_SOURCES: Mapping[type, Callable[[Any, Given], PromptSource]] = {
    RandomTokens: _random_tokens,
    PromptSet: _prompt_set,
    SharedPrefix: _shared_prefix,
    MultiTurn: _multi_turn,
    ShareGpt: _sharegpt,
    TracePrompts: _trace,
    Mix: _mix,
}
