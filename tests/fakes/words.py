"""The scripted engine's tokenizer: one token a whitespace word, and a chat template of fixed length.

Owns: words to ids and back. Knows nothing about requests.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

TEMPLATE_TOKENS = 10
"""What the chat template adds to every conversation."""
VOCABULARY = 49_152
"""Ids below are the words `w<id>`, so that random ids make text that counts to the same ids again."""


class Words:
    """Encodes and decodes; a word that is not `w<id>` gets an id of its own above the vocabulary."""

    def __init__(self, *, template_tokens: int = TEMPLATE_TOKENS) -> None:
        self._template_tokens = template_tokens
        self._seen: dict[int, str] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self._id(word) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """A text that encodes to these ids, as far as they were ever seen."""
        return " ".join(self._seen.get(token, f"w{token}") for token in ids)

    def encode_prompt(self, body: Mapping[str, Any]) -> list[int]:
        """The ids of a request's prompt: `messages` under the template, or `prompt` as text or ids."""
        if "messages" in body:
            contents = [message.get("content") or "" for message in body["messages"]]
            return [*range(self._template_tokens), *self.encode(" ".join(map(_text_of, contents)))]
        prompt = body.get("prompt", "")
        if isinstance(prompt, list):
            return self.encode(" ".join(prompt)) if prompt and isinstance(prompt[0], str) else list(prompt)
        return self.encode(prompt)

    def _id(self, word: str) -> int:
        if word[:1] == "w" and word[1:].isdigit() and int(word[1:]) < VOCABULARY:
            return int(word[1:])
        token = VOCABULARY + zlib.crc32(word.encode())
        self._seen[token] = word
        return token


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)
