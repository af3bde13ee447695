"""Random words with an exact number of tokens, as the target's own tokenizer counts them.

Owns: which words cost one token, and how a text is grown or shrunk to its length. Knows nothing
about tokenizers or HTTP: counting is a function that comes in. Every text starts with words drawn
from the run's salt, so that no two requests share a prefix and no run warms the next.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.prompts.prompt import Count, Prompt
from loadgen.schedule import stream
from serving.errors import Failed

SALT_WORDS = 5
"""With 500 words to draw from, five give 3e13 different heads."""
ENOUGH_WORDS = 64
"""Fewer one-token words than this make texts too alike to be called random."""
GROUP = 64
TRIES = 8


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
            where="prompts.kind: random_tokens",
            fix="use 'kind: prompt_set' for this model",
        )
    # The anchor itself may cost more than one token at the head of a text: measure on known words.
    sample = found[:16]
    return Vocabulary(tuple(found), overhead_tokens=count(" ".join(sample)) - len(sample))


@dataclass(frozen=True, slots=True)
class RandomTokensSource:
    """Makes prompts of exactly `input_tokens`; without `count` of about that many, unverified."""

    vocabulary: Vocabulary
    count: Count | None
    input_tokens: int
    seed: int
    salt: str

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`. Raises: Failed if the length cannot be met exactly."""
        words = _Words(self.vocabulary.words, seed=self.seed, salt=self.salt, index=index)
        length = self.input_tokens - self.vocabulary.overhead_tokens
        if self.count is None:
            return Prompt("random", words.text(max(1, length)))
        if length < 1:
            raise self._too_short()
        for _ in range(TRIES):
            text = words.text(length)
            counted = self.count(text)
            if counted == self.input_tokens:
                return Prompt("random", text, counted)
            length = max(1, length + self.input_tokens - counted)
        raise Failed(
            f"no text of exactly {self.input_tokens} tokens was found in {TRIES} tries",
            where="prompts.input_tokens",
            fix="use another length, or 'kind: prompt_set'",
        )

    def _too_short(self) -> Failed:
        overhead = max(self.vocabulary.overhead_tokens, 0)
        return Failed(
            f"{self.input_tokens} tokens are fewer than the chat template and one word cost ({overhead + 1})",
            where="prompts.input_tokens",
            fix=f"ask for at least {overhead + 1 + SALT_WORDS}",
        )


class _Words:
    """An endless row of words: the head from the salt, the rest from the seed."""

    def __init__(self, words: Sequence[str], *, seed: int, salt: str, index: int) -> None:
        self._words = words
        self._rng: random.Random = stream(seed, f"prompt/{index}")
        self._drawn = stream(salt, f"salt/{index}").choices(words, k=SALT_WORDS)

    def text(self, length: int) -> str:
        missing = length - len(self._drawn)
        if missing > 0:
            self._drawn += self._rng.choices(self._words, k=missing)
        return " ".join(self._drawn[:length])
