"""Prompts written for this project, eight kinds of task, taken in turn.

Owns: the order in which texts are taken. Knows nothing about files: the texts come in. A line with
the run's salt stands before each text, so that no run warms the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen.lengths import Draw
from loadgen.prompts.prompt import Count, Prompt
from loadgen.schedule import stream


@dataclass(frozen=True, slots=True)
class PromptSetSource:
    """Takes the kinds in turn, and within a kind its texts in turn."""

    texts: Mapping[str, Sequence[str]]
    kinds: Sequence[str]
    salt: str
    count: Count | None = None
    output_tokens: Draw | None = None

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`."""
        turn, position = divmod(index, len(self.kinds))
        kind = self.kinds[position]
        texts = self.texts[kind]
        mark = stream(self.salt, f"salt/{index}").getrandbits(48)
        text = f"Reference {mark:012x}.\n\n{texts[turn % len(texts)]}"
        output = self.output_tokens(index) if self.output_tokens else None
        return Prompt(kind, text, self.count(text) if self.count else None, output)
