"""Random words with an exact number of tokens, as the target's own tokenizer counts them.

Owns: one random prompt a request. Knows nothing about tokenizers or distributions: lengths are drawn by
functions that come in. Every text starts with words drawn from the run's salt, so that no two requests
share a prefix and no run warms the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.lengths import Draw
from loadgen.prompts.exact_text import Writer
from loadgen.prompts.prompt import Prompt


@dataclass(frozen=True, slots=True)
class RandomTokensSource:
    """Makes prompts of exactly the lengths drawn; without a tokenizer of about those, unverified."""

    writer: Writer
    input_tokens: Draw
    output_tokens: Draw | None

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`. Raises: Failed if the length cannot be met exactly."""
        text, counted = self.writer.exact(self.writer.row(str(index)), self.input_tokens(index))
        output = self.output_tokens(index) if self.output_tokens else None
        return Prompt("random", text, counted, output)
