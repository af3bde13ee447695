"""A prompt for each row of a trace: of its lengths, with the beginnings that its hash ids name.

Owns: how hash ids become texts. Knows nothing about files and forms of traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.prompt import Prompt
from loadgen.traces.row import TraceRow


@dataclass(frozen=True, slots=True)
class TraceSource:
    """Takes the rows in turn. From the top again, all texts are other ones: no row warms its repetition."""

    writer: Writer
    rows: Sequence[TraceRow]
    block_tokens: int

    def make(self, index: int) -> Prompt:
        """The prompt of row `index`. Raises: Failed if a length cannot be met exactly."""
        again, position = divmod(index, len(self.rows))
        row = self.rows[position]
        if row.input_tokens is None:
            return Prompt(row.kind, "", None, row.output_tokens, body=row.body)
        blocks = self._blocks(row, again)
        words = [word for name, tokens in blocks for word in self.writer.block(name, tokens)]
        text, counted = self.writer.exact(self.writer.row(str(index), head=words), row.input_tokens)
        return Prompt(row.kind, text, counted, row.output_tokens, blocks=blocks)

    def _blocks(self, row: TraceRow, again: int) -> tuple[tuple[str, int], ...]:
        """Full blocks first; the last id names what is left, less what the chat template costs."""
        left = (row.input_tokens or 0) - max(self.writer.vocabulary.overhead_tokens, 0)
        blocks = []
        for number in row.hash_ids:
            tokens = min(self.block_tokens, left)
            if tokens <= 0:
                break
            blocks.append((f"{again}/{number}", tokens))
            left -= tokens
        return tuple(blocks)
