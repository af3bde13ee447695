"""A pair's greedy answers over both of its engines, as clients get them through the gateway.

Owns: the walk over both engines, prompt by prompt. Knows nothing about what answers are held against.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from deploy.study.quality_record import Answer, QualityPlan
from serving.connectors.connector import Legs
from serving.errors import Failed
from serving.gateway.disaggregated.division import DividedBodies

PATH = "/v1/completions"
TIMEOUT_S = 300.0
Send = Callable[[str, bytes, str], Awaitable[tuple[int, bytes]]]
"""To an address a body, under a request's id: the status and what was answered."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A prefilling and a decoding engine, and how one hands over to the other."""

    prefill: str
    decode: str
    model: str
    legs: Legs

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.prefill} and {self.decode}"


async def over_both(pair: Pair, plan: QualityPlan, send: Send | None = None) -> tuple[Answer, ...]:
    """The continuation of each of the plan's beginnings. Raises: Failed where a leg fails."""
    if send is not None:
        return tuple(
            [await _answer(pair, name, text, plan.answer_tokens, send) for name, text in plan.prompts()]
        )
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:

        async def post(address: str, body: bytes, request_id: str) -> tuple[int, bytes]:
            headers = {"X-Request-Id": request_id, "Content-Type": "application/json"}
            try:
                async with session.post(address, data=body, headers=headers) as answer:
                    return answer.status, await answer.read()
            except (aiohttp.ClientError, TimeoutError) as error:
                raise Failed(f"the engine gave no answer ({type(error).__name__})", where=address) from error

        return await over_both(pair, plan, post)


async def _answer(pair: Pair, name: str, prompt: str, tokens: int, send: Send) -> Answer:
    request_id = f"rollout-{uuid.uuid4().hex}"
    body = {
        "model": pair.model, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "seed": 0,
        "logprobs": 0, "return_tokens_as_token_ids": True,
        # Else a decoding engine that has met the prompt takes nothing from the other.
        "cache_salt": request_id,
    }  # fmt: skip
    bodies = DividedBodies(pair.legs, body)
    first, second = pair.prefill + PATH, pair.decode + PATH
    status, told = await send(first, bodies.first(), request_id)
    if status != 200:
        raise Failed(f"the engine answered its leg with {status}", where=first)
    if not bodies.take_params(told):
        raise Failed("the engine gave no blocks to take over", where=first)
    status, told = await send(second, bodies.second(), request_id)
    if status != 200:
        raise Failed(f"the engine answered its leg with {status}", where=second)
    try:
        return Answer(name, tuple(json.loads(told)["choices"][0]["logprobs"]["tokens"]))
    except (ValueError, LookupError, TypeError) as error:
        raise Failed("the engine told no tokens of its answer", where=second) from error
