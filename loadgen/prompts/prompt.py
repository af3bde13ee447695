"""What a prompt is, and what a source of prompts does.

Owns: the types that every kind of prompt shares. Knows nothing about endpoints, HTTP or when a
prompt is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Count = Callable[[str], int]
"""The number of prompt tokens a text costs on the target's endpoint, chat template included."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What is said next in a conversation, `think_s` after the answer before has ended."""

    text: str
    input_tokens: int
    """New tokens, without what the chat template puts around them."""
    output_tokens: int | None = None
    think_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to send, and what may follow it. `None` tokens: not known before the answer."""

    kind: str
    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    """The length asked of the answer; None: what `sampling` says."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """More keys of this request's body; a prompt in them takes the place of `text`."""
    blocks: tuple[tuple[str, int], ...] = ()
    """Name and tokens of each part that other prompts may begin with too, from the first token on."""
    turns: tuple[Turn, ...] = ()


class PromptSource(Protocol):
    """Makes the prompt of a request from its index alone, so that prompts can be made in any order."""

    def make(self, index: int) -> Prompt:
        """The prompt of request `index`. Raises: serving.errors.TeapotError if it cannot be made."""
        ...
