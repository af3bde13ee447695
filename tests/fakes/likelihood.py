"""How likely the scripted engine finds a word: a tenth of a nat less for each of its letters.

Owns: the `logprobs` of a completion that is not streamed, as vLLM gives them, with `echo` or without. Knows
nothing about where the words come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def likelihood(body: Mapping[str, Any], ids: Sequence[int]) -> dict[str, Any]:
    """The field `logprobs` where it was asked for. `ids` are the generated words `w<id>`."""
    if body.get("logprobs") is None:
        return {}
    written = [] if body.get("echo") and body.get("max_tokens") == 0 else [f"w{token}" for token in ids]
    read = str(body["prompt"]).split() if body.get("echo") else []
    values: list[float | None] = [-len(word) / 10 for word in (*read, *written)]
    if read:
        values[0] = None  # nothing stands before the first word of a prompt
    return {"logprobs": {"tokens": [*read, *written], "token_logprobs": values}}
