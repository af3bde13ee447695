"""The scripted engine's prefix cache: hits in whole blocks, as vLLM counts them.

Owns: which prompt blocks were seen. Knows nothing about requests.
"""

from __future__ import annotations

from collections.abc import Sequence


class PrefixCache:
    """Remembers the blocks of every prompt, without bound."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._blocks: set[tuple[int, ...]] = set()

    def look_up(self, prompt: Sequence[int]) -> int:
        """Tokens of this prompt that earlier ones left behind; afterwards its own blocks are there too.

        The last token is always computed, so a wholly known prompt hits one block less when it ends on one.
        """
        size = self._block_size
        prefixes = [tuple(prompt[:end]) for end in range(size, len(prompt) + 1, size)]
        hits = 0
        for prefix in prefixes:
            if prefix not in self._blocks or len(prefix) >= len(prompt):
                break
            hits = len(prefix)
        self._blocks.update(prefixes)
        return hits
