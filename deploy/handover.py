"""Sends a request over a prefilling and a decoding engine, to see whether the KV cache comes along.

Owns: which engines are tried with which, and the requests of a trial. Knows nothing about what the counters
mean, which is the mode's to judge, nor about when engines come and go.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from serving.engine.observe import finished_requests, settled
from serving.engine.probes import REPEAT_TOKENS, Prober, repeated_prompt
from serving.gateway.disaggregated.division import DividedBodies, divide
from serving.modes.disaggregated import Disaggregated, Handover
from serving.modes.mode import Mode, Observation, Role, Verdict

PATH = "/v1/completions"
WITHIN_S = 180.0
"""Far more than a prompt of some hundred tokens needs on any engine that is of use."""


@dataclass(frozen=True, slots=True)
class Side:
    """One engine of a divided deployment."""

    name: str
    role: Role
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is sent: to which model, and how long prompts must be to be divided and may be at most."""

    model: str
    from_tokens: int
    max_model_len: int | None


class Handovers:
    """The trials of one deployment: every engine with one of the other side, as soon as both are there."""

    def __init__(self, modes: Sequence[Mode], trial: Trial) -> None:
        found = next((mode for mode in modes if isinstance(mode, Disaggregated)), None)
        # Without legs the engines find each other's cache by themselves, and no request is divided.
        self._mode = found if found and found.connector.connector.legs else None
        self._trial = trial
        self._there: dict[str, Side] = {}
        self._tried: set[str] = set()
        self._one_by_one = asyncio.Lock()

    def lost(self, name: str) -> None:
        """An engine is gone: what it showed does not hold for the one that is started in its place."""
        self._there.pop(name, None)
        self._tried.discard(name)

    async def settle(self, side: Side) -> dict[str, Verdict]:
        """Try an engine that was judged for itself with those of the other side that were not tried yet, or
        with any; the verdicts by engine, of which one that tried several has the worst.

        Raises: aiohttp.ClientError, TimeoutError where an engine breaks off or takes too long.
        """
        if self._mode is None:
            return {}
        self._there[side.name] = side
        others = [other for other in self._there.values() if {other.role, side.role} == {"prefill", "decode"}]
        untried = [other for other in others if other.name not in self._tried]
        verdicts: dict[str, Verdict] = {}
        for other in untried or others[:1]:
            prefill, decode = (side, other) if side.role == "prefill" else (other, side)
            # The counters must move by this one request alone.
            async with self._one_by_one, asyncio.timeout(WITHIN_S):
                verdict = await _trial(self._mode, self._trial, prefill, decode)
            self._tried |= {side.name, other.name}
            verdicts[other.name] = verdict
            if side.name not in verdicts or verdict.in_effect is not True:
                verdicts[side.name] = verdict
        return verdicts


async def _trial(mode: Disaggregated, trial: Trial, prefill: Side, decode: Side) -> Verdict:
    prompt = repeated_prompt(f"Handover {uuid.uuid4().hex}", trial.max_model_len)
    body = {"model": trial.model, "prompt": prompt, "max_tokens": REPEAT_TOKENS, "temperature": 0}
    document = json.dumps(body | {"ignore_eos": True}).encode()
    bodies = divide(PATH, document, mode.connector.connector.legs, trial.from_tokens)
    if bodies is None:
        evidence = (
            f"only prompts of {trial.from_tokens:,} tokens and more are divided, and the trial's is shorter"
        )
        return Verdict(mode.kind, mode.asked(), None, evidence)
    headers = {"X-Request-Id": f"handover-{uuid.uuid4().hex}", "Content-Type": "application/json"}
    forever = aiohttp.ClientTimeout(None)
    async with (
        aiohttp.ClientSession(prefill.url, headers=headers, timeout=forever) as first,
        aiohttp.ClientSession(decode.url, headers=headers, timeout=forever) as second,
    ):
        before = await settled(second, None)
        started = Handover(prefill=prefill.name, decode=decode.name, seen=Observation(before, before, {}))
        walked = await _walk(started, first, second, bodies)
        if walked.failure is None:
            after = await settled(second, finished_requests(before) + 1)
            alone = await Prober(first, trial.model).complete(prompt, REPEAT_TOKENS)
            walked = replace(walked, seen=Observation(before, after, {}), alone=alone.text)
        return mode.handed_over(walked)


async def _walk(
    started: Handover, first: aiohttp.ClientSession, second: aiohttp.ClientSession, bodies: DividedBodies
) -> Handover:
    """Both legs, as the gateway walks them."""
    status, answer = await _ask(first, bodies.first())
    if status != 200:
        return replace(started, failure=f"the first answered its leg with HTTP {status}")
    if not bodies.take_params(answer):
        return replace(started, failure="the first gave no blocks to take over")
    status, answer = await _ask(second, bodies.second())
    if status != 200:
        return replace(started, failure=f"the second answered its leg with HTTP {status}")
    document: Mapping[str, Any] = json.loads(answer)
    tokens = int((document.get("usage") or {}).get("prompt_tokens") or 0)
    return replace(started, prompt_tokens=tokens, answer=str(document["choices"][0]["text"]))


async def _ask(session: aiohttp.ClientSession, body: bytes) -> tuple[int, bytes]:
    async with session.post(PATH, data=body) as answer:
        return answer.status, await answer.read()
