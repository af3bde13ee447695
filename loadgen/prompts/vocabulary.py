"""Which words cost one token each in the target's tokenizer.

Owns: how they are found with few questions. Knows nothing about tokenizers or HTTP: counting is a
function that comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.prompts.prompt import Count
from serving.errors import Failed

ENOUGH_WORDS = 64
"""Fewer one-token words than this make texts too alike to be called random."""
GROUP = 64


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words that cost one token each, and what a text costs beyond its words (template, BOS)."""

    words: tuple[str, ...]
    overhead_tokens: int


def learn(words: Sequence[str], count: Count) -> Vocabulary:
    """Find the words that cost exactly one token after a space, by counting groups and halving misfits.

    A word never costs less than one token, so a group of k words that costs k holds only such words.
    Raises: Failed if there are too few.
    """
    anchor, rest = words[0], words[1:]
    base = count(anchor)

    def single(group: Sequence[str]) -> list[str]:
        if count(" ".join((anchor, *group))) - base == len(group):
            return list(group)
        if len(group) == 1:
            return []
        half = len(group) // 2
        return single(group[:half]) + single(group[half:])

    found = [word for start in range(0, len(rest), GROUP) for word in single(rest[start : start + GROUP])]
    if len(found) < min(ENOUGH_WORDS, len(rest)):
        raise Failed(
            f"only {len(found)} of {len(rest)} words cost one token in this model's tokenizer",
            where="prompts.kind",
            fix="use 'kind: prompt_set' for this model",
        )
    # The anchor itself may cost more than one token at the head of a text: measure on known words.
    sample = found[:16]
    return Vocabulary(tuple(found), overhead_tokens=count(" ".join(sample)) - len(sample))
