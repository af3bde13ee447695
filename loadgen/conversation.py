"""What is sent in a later turn of a conversation: the planned body with the answers that really came.

Owns: the form in which a planned body leaves answers open (an assistant message without content), and
how they are filled in. Knows nothing about streams, times or who waits for an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

OPEN: Mapping[str, Any] = {"role": "assistant", "content": None}
"""Stands in a planned body for an answer that will be known only when it has come."""


def body_of_turn(body: Mapping[str, Any], answers: Sequence[str]) -> Mapping[str, Any]:
    """The body with the n-th open assistant message saying the n-th answer; what is closed stays.

    An empty answer is sent as it is: the model said nothing. Raises: ValueError if answers are missing.
    """
    rest = iter(answers)
    messages = []
    for message in body.get("messages", ()):
        if message == OPEN:
            answer = next(rest, None)
            if answer is None:
                raise ValueError(f"the body waits for more answers than the {len(answers)} there are")
            message = {**OPEN, "content": answer}
        messages.append(message)
    return {**body, "messages": messages} if "messages" in body else body
