"""Conversations of random words, each turn of which adds new words to all that was said before.

Owns: the words of the turns. Knows nothing about answers: those that really come are put between the
turns when they are sent (`loadgen.conversation`).
"""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.lengths import Draw
from loadgen.prompts.exact_text import Writer
from loadgen.prompts.prompt import Prompt, Turn

MOST_TURNS = 1 << 16
"""Keeps the indices of the turns of two conversations apart."""


@dataclass(frozen=True, slots=True)
class MultiTurnSource:
    """Makes conversations of `turns` turns. Lengths are drawn for each turn anew."""

    writer: Writer
    turns: int
    input_tokens: Draw
    output_tokens: Draw | None
    think_s: float

    def make(self, index: int) -> Prompt:
        """The conversation `index`: the first turn's tokens with the template, later ones' without.

        Raises: Failed if the first length cannot be met exactly.
        """
        text, counted = self.writer.exact(self.writer.row(str(index)), self.input_tokens(index))
        later = tuple(self._later(index, turn) for turn in range(1, self.turns))
        return Prompt("multi_turn", text, counted, self._output(index), turns=later)

    def _later(self, index: int, turn: int) -> Turn:
        number = index + turn * MOST_TURNS
        words = self.input_tokens(number)
        text = self.writer.row(f"{index}/{turn}").text(words)
        return Turn(text, words, self._output(number), self.think_s)

    def _output(self, number: int) -> int | None:
        return self.output_tokens(number) if self.output_tokens else None
