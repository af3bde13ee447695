"""How long a workload's requests are, before any is sent: by its own draws, its turns, the rows of its trace.

Owns: the lengths of every kind of prompts that tells them. Knows nothing about texts and tokenizers, so that
kinds whose lengths only a tokenizer tells are refused; nor about what is planned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from loadgen.input_files import load, read_inputs
from loadgen.lengths import Draw, drawer
from loadgen.prompts.multi_turn import MOST_TURNS
from loadgen.prompts.sources import Inputs
from loadgen.workload_lengths import Length
from loadgen.workload_prompts import Mix, MultiTurn, Prompts, RandomTokens, SharedPrefix, TracePrompts
from serving.errors import UsageError

DRAWN = 1000
"""Requests whose lengths are drawn to tell a workload's percentiles."""
Pair = tuple[int, int]
"""Tokens of a prompt, with all that was said before it, and of its answer."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the draws of a workload are made from, as a run's are."""

    seed: int | str
    inputs: Inputs
    max_tokens: int
    """Of an answer, where the prompts say none, which a workload then must; 0: of embeddings."""
    where: str

    def draw(self, length: Length, name: str) -> Draw:
        """What draws lengths."""
        return drawer(length, seed=self.seed, name=name, files=self.inputs.lengths)

    def answers(self, length: Length | None) -> Draw:
        """What draws the lengths of answers."""
        return self.draw(length, "output") if length is not None else lambda _index: self.max_tokens


def workload_pairs(path: str) -> list[Pair]:
    """The lengths of a workload's requests. Raises: UsageError with file and key."""
    workload = load(Path(path))
    most = workload.sampling.max_tokens or 0
    known = Known(workload.seed, read_inputs(workload), most, f"{path}: prompts")
    return _pairs(workload.prompts, known, DRAWN)


def _pairs(prompts: Prompts, known: Known, number: int) -> list[Pair]:
    if isinstance(prompts, Mix):
        return _mix(prompts, known, number)
    if isinstance(prompts, TracePrompts):
        return _trace(prompts, known)
    if isinstance(prompts, MultiTurn):
        return _turns(prompts, known, number)
    asked: Callable[[int], int]
    if isinstance(prompts, RandomTokens):
        asked = known.draw(prompts.input_tokens, "input")
    elif isinstance(prompts, SharedPrefix):
        own, prefix = known.draw(prompts.suffix_tokens, "input"), prompts.prefix_tokens

        def asked(index: int) -> int:
            return prefix + own(index)

    else:
        raise UsageError(
            f"prompts of kind {prompts.kind} do not tell their lengths",
            where=known.where,
            fix="give --input-tokens and --output-tokens, or --run with a folder in which it ran",
        )
    answered = known.answers(prompts.output_tokens)
    return [(asked(index), answered(index)) for index in range(number)]


def _turns(prompts: MultiTurn, known: Known, number: int) -> list[Pair]:
    """Every turn carries all that was said before it."""
    asked, answered = known.draw(prompts.input_tokens, "input"), known.answers(prompts.output_tokens)
    found = []
    for index in range(-(-number // prompts.turns)):
        said = 0
        for turn in range(prompts.turns):
            at = index + turn * MOST_TURNS
            prompt, answer = said + asked(at), answered(at)
            found.append((prompt, answer))
            said = prompt + answer
    return found


def _trace(prompts: TracePrompts, known: Known) -> list[Pair]:
    rows = known.inputs.traces[prompts.file].rows
    told = [
        (row.input_tokens, known.max_tokens if row.output_tokens is None else row.output_tokens)
        for row in rows
        if row.input_tokens is not None
    ]
    if len(told) < len(rows):
        raise UsageError(
            "have rows with bodies, whose lengths are not told",
            where=known.where,
            fix="give --input-tokens and --output-tokens, or --run with a folder in which it ran",
        )
    return told


def _mix(prompts: Mix, known: Known, number: int) -> list[Pair]:
    """As many of each part as its weight has."""
    whole = sum(part.weight for part in prompts.of)
    found = []
    for at, part in enumerate(prompts.of):
        share = max(1, round(number * part.weight / whole))
        found += _pairs(part.prompts, replace(known, seed=f"{known.seed}/part {at}"), share)[:share]
    return found
