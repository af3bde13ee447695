"""A number with what it counts: `1 cell`, `2 cells`.

Owns: that wording. Knows nothing about what is counted.
"""

from __future__ import annotations


def many(number: int, one: str) -> str:
    """The number and the word, with an s where there is not exactly one."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
