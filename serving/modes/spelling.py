"""Suggests what a misspelt word may have meant.

Owns: the wording of a suggestion. Knows nothing about what the words are.
"""

from __future__ import annotations

from collections.abc import Sequence


def suggest(word: str, known: Sequence[str], plural: str) -> str:
    """Name the closest known word, or list them all: `did you mean 'format'?` or `formats: a, b`."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"{plural}: {', '.join(known)}"
