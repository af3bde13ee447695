"""Groups of prompts that begin alike, as those of one system prompt or one long document do.

Owns: the groups, their texts and which of them is asked. Knows nothing about tokenizers, or about what
the server makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.lengths import Draw
from loadgen.prompts.exact_text import Writer
from loadgen.prompts.prompt import Prompt
from loadgen.schedule import stream


@dataclass(frozen=True, slots=True)
class SharedPrefixSource:
    """Draws a group by Zipf's law and writes its prefix, then words of the request's own."""

    writer: Writer
    groups: int
    prefix_tokens: int
    skew: float
    suffix_tokens: Draw
    output_tokens: Draw | None

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`: prefix_tokens + suffix_tokens with its template.

        Raises: Failed if the length cannot be met exactly.
        """
        group = self._group(index)
        name = f"group {group}"
        head = self.writer.block(name, self.prefix_tokens)
        tokens = self.prefix_tokens + self.suffix_tokens(index)
        row = self.writer.row(str(index), head=head)
        text, counted = self.writer.exact(row, tokens, least=self.prefix_tokens + 1)
        output = self.output_tokens(index) if self.output_tokens else None
        return Prompt("shared_prefix", text, counted, output, blocks=((name, self.prefix_tokens),))

    def _group(self, index: int) -> int:
        weights = [1 / (k + 1) ** self.skew for k in range(self.groups)]
        return stream(self.writer.seed, f"group/{index}").choices(range(self.groups), weights)[0]
