"""What a prompt is, and what a source of prompts does.

Owns: the two types that every kind of prompt shares. Knows nothing about endpoints, HTTP or when a
prompt is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Count = Callable[[str], int]
"""The number of prompt tokens a text costs on the target's endpoint, chat template included."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to send. `input_tokens` is None where the target cannot count before the answer."""

    kind: str
    text: str
    input_tokens: int | None = None


class PromptSource(Protocol):
    """Makes the prompt of a request from its index alone, so that prompts can be made in any order."""

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`. Raises: serving.errors.TeapotError if it cannot be made."""
        ...
