"""The requests that show what an engine does: one long prompt twice, and a few short ones with fixed words.

Owns: their words, their size and sending them, one after the other. Knows nothing about modes or metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

REPEAT_TOKENS = 8
ANSWER_TOKENS = 12
REPEATS = 2
_SENTENCE = "The quick brown fox jumps over the lazy dog while the river runs to the sea. "
_SENTENCES = 30
"""30 sentences of 17 or more tokens: over 500 tokens, three whole blocks of 128 and more."""
_CHARACTERS_PER_TOKEN = 3
"""No tokenizer makes fewer of plain English, so a prompt cut by this fits a small context."""
ANSWER_PROMPTS = (
    "The capital of France is",
    "To boil an egg, first",
    "one two three four five six one two three four five six one two three",
)
"""The last one repeats itself, so that n-gram speculation finds something to draft from. Recorded answers are
kept with their prompts, so after a change of these they are recorded again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine wrote to one probe."""

    text: str
    prompt_tokens: int


def repeated_prompt(head: str, max_model_len: int | None = None) -> str:
    """A prompt of several blocks that begins with `head`, cut to fit `max_model_len` tokens.

    The head must be new in each run, else an earlier run has warmed the prefix cache.
    """
    prompt = f"{head}. " + _SENTENCE * _SENTENCES
    if max_model_len is None:
        return prompt
    return prompt[: max(1, max_model_len - 2 * REPEAT_TOKENS) * _CHARACTERS_PER_TOKEN]


@dataclass(frozen=True, slots=True)
class Prober:
    """Sends probes to one engine. Raises, each time: aiohttp.ClientError where it does not answer well."""

    session: aiohttp.ClientSession
    model: str

    async def twice(self, prompt: str) -> list[Answer]:
        """The same prompt twice: the first must have filled the cache before the second asks."""
        return [await self.complete(prompt, REPEAT_TOKENS) for _ in range(REPEATS)]

    async def answers(self, prompts: Sequence[str] = ANSWER_PROMPTS) -> list[Answer]:
        """Greedy answers, each alone on the engine, since a batch of another size may round otherwise."""
        return [await self.complete(prompt, ANSWER_TOKENS) for prompt in prompts]

    async def complete(self, prompt: str, tokens: int) -> Answer:
        """One greedy answer of exactly so many tokens."""
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
        }
        # How long it may take is for the caller to say, once for all probes together.
        async with self.session.post(
            "/v1/completions", json=body, timeout=aiohttp.ClientTimeout(None)
        ) as reply:
            if reply.status != 200:
                raise aiohttp.ClientResponseError(
                    reply.request_info,
                    reply.history,
                    status=reply.status,
                    message=(await reply.text())[:300],
                )
            document = await reply.json()
        usage = document.get("usage") or {}
        return Answer(str(document["choices"][0]["text"]), int(usage.get("prompt_tokens") or 0))
