"""Texts with an exact number of tokens, as the target's own tokenizer counts them.

Owns: how a row of words is cut to its length. Knows nothing about tokenizers or HTTP, and nothing about
which prompts are made of the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from loadgen.prompts.prompt import Count
from loadgen.prompts.vocabulary import Vocabulary
from loadgen.schedule import stream
from serving.errors import Failed

SALT_WORDS = 5
"""With 500 words to draw from, five give 3e13 different heads."""
TRIES = 8


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes texts of words that cost one token each. Without `count`, lengths are about right."""

    vocabulary: Vocabulary
    count: Count | None
    seed: int | str
    salt: str

    def row(self, name: str, *, head: Sequence[str] = ()) -> Row:
        """An endless row of words: `head`, words from the run's salt, then words from the seed."""
        mark = stream(self.salt, f"salt/{name}").choices(self.vocabulary.words, k=SALT_WORDS)
        return Row([*head, *mark], self.vocabulary.words, stream(self.seed, f"prompt/{name}"))

    def block(self, name: str, number: int) -> list[str]:
        """`number` words that are the same in every prompt of the run, and others in another run.

        The first is always the vocabulary's, by which the overhead was measured: another can cost more at the
        beginning of a text than after a space, and would take the room of what follows the block.
        """
        words = self.vocabulary.words
        return [*words[:1], *stream(self.salt, f"block/{name}").choices(words, k=number)][:number]

    def exact(self, row: Row, tokens: int, *, least: int = 1) -> tuple[str, int | None]:
        """The beginning of `row` that costs `tokens` with its template, and what the target counted.

        At least `least` words of it are kept. Raises: Failed if the length cannot be met exactly.
        """
        overhead = max(self.vocabulary.overhead_tokens, 0)
        length = tokens - self.vocabulary.overhead_tokens
        if self.count is None:
            return row.text(max(least, length)), None
        if length < least:
            raise Failed(
                f"{tokens} tokens are fewer than the chat template and what must be said cost"
                f" ({overhead + least})",
                where="prompts",
                fix=f"ask for at least {overhead + least + SALT_WORDS}",
            )
        for _ in range(TRIES):
            text = row.text(length)
            counted = self.count(text)
            if counted == tokens:
                return text, counted
            length = max(least, length + tokens - counted)
        raise Failed(
            f"no text of exactly {tokens} tokens was found in {TRIES} tries",
            where="prompts",
            fix="use another length, or 'kind: prompt_set'",
        )


class Row:
    """An endless row of words, drawn as far as it was asked for."""

    def __init__(self, head: list[str], words: Sequence[str], rng: Random) -> None:
        self._drawn, self._words, self._rng = head, words, rng

    def text(self, length: int) -> str:
        """The first `length` words."""
        missing = length - len(self._drawn)
        if missing > 0:
            self._drawn += self._rng.choices(self._words, k=missing)
        return " ".join(self._drawn[:length])
