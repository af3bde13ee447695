"""Several sources of prompts, one of which is drawn for each request by weight.

Owns: the drawing. Knows nothing about the sources. Each source counts its own requests, so that one that
takes texts in turn still takes them in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.prompts.prompt import Prompt, PromptSource
from loadgen.schedule import stream


@dataclass(frozen=True, slots=True)
class MixSource:
    """Asks the source that was drawn for a request for its next prompt."""

    sources: Sequence[PromptSource]
    drawn: Sequence[tuple[int, int]]
    """For each request the number of its source, and how many requests that source had before."""

    @classmethod
    def draw(
        cls, sources: Sequence[PromptSource], weights: Sequence[float], *, number: int, seed: int | str | str
    ) -> MixSource:
        """Draw for `number` requests."""
        chosen = stream(seed, "mix").choices(range(len(sources)), weights, k=number)
        before: Counter[int] = Counter()
        drawn = []
        for source in chosen:
            drawn.append((source, before[source]))
            before[source] += 1
        return cls(sources, drawn)

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`."""
        source, position = self.drawn[index]
        return self.sources[source].make(position)
