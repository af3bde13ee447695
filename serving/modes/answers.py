"""Where two sets of greedy answers part.

Owns: the comparison and its wording. Knows nothing about engines or why answers differ. The excerpts are
of teapot's own probe prompts, never of a user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

EXCERPT = 40
"""Characters shown of each text from where they part."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where an answer is not its reference. Counts begin at 0."""

    answer: int
    """Which of the answers."""
    character: int
    """How many characters both begin with."""
    word: int
    """How many whole words both begin with."""
    got: str
    """What follows in the answer, cut short."""
    wanted: str
    """What follows in the reference, cut short."""

    def __str__(self) -> str:
        return (
            f"answer {self.answer + 1} parts from the reference at word {self.word + 1} "
            f"(character {self.character + 1}): {self.got!r} where it had {self.wanted!r}"
        )


def first_difference(answers: Sequence[str], reference: Sequence[str]) -> Difference | None:
    """The first answer that differs from the reference of the same index; None where all are equal.

    An answer that is missing on one side counts as empty.
    """
    for index, (got, wanted) in enumerate(zip_longest(answers, reference, fillvalue="")):
        if got != wanted:
            same = _common_start(got, wanted)
            words = len(got[:same].split())
            # A word that goes on past the common part is not wholly the same.
            inside = same > 0 and not got[same - 1].isspace() and _goes_on(got, wanted, same)
            return Difference(
                index,
                same,
                words - 1 if inside else words,
                got[same : same + EXCERPT],
                wanted[same : same + EXCERPT],
            )
    return None


def _common_start(left: str, right: str) -> int:
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _goes_on(left: str, right: str, at: int) -> bool:
    return any(text[at : at + 1].strip() for text in (left, right))
