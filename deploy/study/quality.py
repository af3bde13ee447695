"""Measure an engine's answers: it scores a text that ships with teapot, and continues it greedily.

Owns: the requests, and reading that text. Everything is asked one after another, so that batching changes
no sum. Each greedy prompt is sent twice and its second answer kept, so that the prefix cache is warm in every
arm. Scoring bypasses that cache (vLLM 0.33.0 sampling_params.py: `skip_reading_prefix_cache`). Knows nothing
about what the numbers mean (`quality_compare.py`) or what is in them (`quality_record.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import aiohttp

from deploy.study.quality_record import (
    Answer,
    Document,
    DocumentScore,
    QualityPlan,
    QualityRecord,
    tokens_sha256,
    windows,
)
from serving.errors import Failed
from serving.wire.problems import message_of

PATH = "/v1/completions"
TIMEOUT_S = 300.0
"""For one request. A CPU scores a window of 2,000 characters in seconds."""


def shipped_plan() -> QualityPlan:
    """The twelve documents in `quality_text`."""
    folder = files("deploy.study") / "quality_text"
    texts = sorted((place.name, place.read_text("utf-8")) for place in folder.iterdir())
    return QualityPlan(
        documents=tuple(
            Document(name.removesuffix(".txt"), text) for name, text in texts if name.endswith(".txt")
        )
    )


async def measure(
    url: str,
    model: str,
    *,
    key: str | None = None,
    plan: QualityPlan | None = None,
    timeout_s: float = TIMEOUT_S,
) -> QualityRecord:
    """Score the plan's text and continue its beginnings; `plan` None is the shipped text.

    `url` is an engine's or a gateway's address, without `/v1`; behind a gateway any of its engines answers.
    Raises: Failed where it cannot be asked or gives no log-probabilities.
    """
    plan = plan or shipped_plan()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        engine = _Engine(session, url.rstrip("/") + PATH, model)
        documents = [await engine.score(document, plan.window_chars) for document in plan.documents]
        answers = [await engine.answer(name, text, plan.answer_tokens) for name, text in plan.prompts()]
    return QualityRecord(
        model=model,
        plan_sha256=plan.sha256,
        window_chars=plan.window_chars,
        answer_tokens=plan.answer_tokens,
        documents=tuple(documents),
        answers=tuple(answers),
    )


@dataclass(frozen=True, slots=True)
class _Engine:
    """One engine that is asked."""

    session: aiohttp.ClientSession
    address: str
    model: str

    async def score(self, document: Document, window_chars: int) -> DocumentScore:
        """Negative log-probabilities of a document's tokens, window by window."""
        pieces = windows(document.text, window_chars)
        names: list[str] = []
        nll: list[float] = []
        for piece in pieces:
            found = await self._ask({"prompt": piece, "max_tokens": 0, "echo": True})
            for name, value in zip(found["tokens"], found["token_logprobs"], strict=True):
                names.append(name)
                if value is not None:
                    nll.append(-value)
        if not nll:
            raise self._failed(f"no token of document '{document.name}' has a log-probability")
        if not all(map(math.isfinite, nll)):
            raise self._failed(f"log-probabilities of document '{document.name}' are not numbers")
        return DocumentScore(document.name, len(pieces), tokens_sha256(names), tuple(nll))

    async def answer(self, name: str, prompt: str, tokens: int) -> Answer:
        """The tokens of a greedy continuation, from a warm prefix cache."""
        body = {"prompt": prompt, "temperature": 0, "seed": 0}
        await self._ask(body | {"max_tokens": 1})
        found = await self._ask(body | {"max_tokens": tokens})
        return Answer(name, tuple(found["tokens"]))

    async def _ask(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The `logprobs` of the one choice.

        `return_tokens_as_token_ids` is vLLM's: two tokens never have one name then.
        """
        more = {"model": self.model, "logprobs": 0, "return_tokens_as_token_ids": True}
        try:
            async with self.session.post(self.address, json={**more, **body}) as response:
                status, text = response.status, await response.text()
        except TimeoutError as error:
            raise self._failed("no answer within the timeout") from error
        except aiohttp.ClientError as error:
            raise self._failed(f"cannot be asked ({type(error).__name__})") from error
        if status != 200:
            raise self._failed(f"HTTP {status} to a request for log-probabilities: {_message(text)}")
        try:
            found = json.loads(text)["choices"][0]["logprobs"]
            if found is None or len(found["tokens"]) != len(found["token_logprobs"]):
                raise ValueError("no log-probabilities")
        except (ValueError, LookupError, TypeError) as error:
            raise self._failed("HTTP 200 without log-probabilities of its tokens") from error
        return dict(found)

    def _failed(self, what: str) -> Failed:
        return Failed(
            f"quality was not measured: {what}",
            where=self.address,
            fix="ask an engine that serves completions with echo and logprobs, and has room for a window",
        )


def _message(text: str) -> str:
    """The engine's own words, without what was sent."""
    try:
        said = message_of(json.loads(text))
    except ValueError:
        said = None
    return "an answer without an error message" if said is None else said[:200]
