"""Requests of the rollout's own to engines: to warm them up, and to compare their answers.

Owns: what is asked, of whom, and what a failure is. Knows nothing about what follows from it. Engines are
asked themselves, on loopback, so that no client waits behind this and no client's metric counts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import aiohttp

from deploy.rollout.evidence import Quality, Standing
from deploy.rollout.pair_answers import Pair, over_both
from deploy.rollout.seen import Engine
from deploy.study.quality import measure, shipped_plan
from deploy.study.quality_compare import compare, judge
from deploy.study.quality_record import Answer, QualityPlan, QualityRecord
from serving.connectors.connector import Legs
from serving.errors import Failed, InvalidMeasurement
from serving.gateway.backends import ANSWERING

WORDS = (8, 64, 256)
"""Lengths of the prompts, in words: each kind of step that an engine compiles on its first is met once."""
AT_ONCE = 4
TOKENS = 16
MANY = 4096
TIMEOUT_S = 300.0
"""For one request: the first may have an engine compile."""
Measure = Callable[[str, str], Awaitable[QualityRecord]]
Walk = Callable[[Pair, QualityPlan], Awaitable[tuple[Answer, ...]]]


def warm(urls: Sequence[str]) -> int:
    """Ask each engine alone and several at once; returns how many answers there were. Raises: Failed."""
    return asyncio.run(_warm(urls))


def compare_answers(
    engines: Sequence[Engine],
    baseline: str,
    legs: Legs | None = None,
    *,
    ask: Measure = measure,
    walk: Walk = over_both,
) -> Quality:
    """Each new engine's answers beside the baseline's, and those beside the baseline's own second ones.

    With `legs`, also those that a prefilling and a decoding engine give together. Raises: Failed where an
    engine cannot be asked.
    """
    return asyncio.run(_compare(engines, baseline, legs, ask, walk))


async def _warm(urls: Sequence[str]) -> int:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        asked = 0
        for url in urls:
            model, longest = await _model(session, url)
            lengths = [min(words, longest) for words in WORDS]
            for words in lengths:
                await _complete(session, url, model, words, 0)
            await asyncio.gather(
                *(_complete(session, url, model, lengths[1], number) for number in range(1, AT_ONCE + 1))
            )
            asked += len(WORDS) + AT_ONCE
        return asked


async def _complete(session: aiohttp.ClientSession, url: str, model: str, words: int, number: int) -> None:
    prompt = " ".join(f"warm {number} up" if index == 0 else "up" for index in range(words))
    body = {"model": model, "prompt": prompt, "max_tokens": TOKENS, "ignore_eos": True}
    await _ask(session, f"{url}/v1/completions", body)


async def _model(session: aiohttp.ClientSession, url: str) -> tuple[str, int]:
    """Its name, and how many words a prompt of ours may have: a short one is a token, or two."""
    document: Any = await _ask(session, f"{url}/v1/models")
    try:
        row = document["data"][0]
        return str(row["id"]), max(1, (int(row.get("max_model_len") or MANY) - TOKENS) // 3)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Failed("the engine tells no model", where=f"{url}/v1/models") from error


async def _ask(session: aiohttp.ClientSession, url: str, body: object = None) -> dict[str, object]:
    try:
        async with session.request("GET" if body is None else "POST", url, json=body) as answer:
            if answer.status != 200:
                raise Failed(f"the engine answered {answer.status}", where=url)
            document: dict[str, object] = await answer.json()
            return document
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Failed(f"the engine gave no answer ({type(error).__name__})", where=url) from error


async def _compare(
    engines: Sequence[Engine], baseline: str, legs: Legs | None, ask: Measure, walk: Walk
) -> Quality:
    answering = [engine.url for engine in engines if engine.role in ANSWERING]
    prefilling = [engine.url for engine in engines if engine.role == "prefill"] if legs else []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:
        models = {url: (await _model(session, url))[0] for url in (baseline, *answering)}
    control = await ask(baseline, models[baseline])
    again = await ask(baseline, models[baseline])
    records = {url: await ask(url, models[url]) for url in answering}
    if legs is not None and prefilling:
        # Each of the larger side with one of the other.
        for number in range(max(len(prefilling), len(answering))):
            first, second = prefilling[number % len(prefilling)], answering[number % len(answering)]
            pair = Pair(first, second, models[second], legs)
            records[pair.name] = replace(records[second], answers=await walk(pair, shipped_plan()))
    found = {whose: _judged(record, control, again) for whose, record in records.items()}
    outcome = min((one.outcome for one in found.values()), key=_WORST_FIRST.index)
    reasons = [
        f"{whose}: {reason}" if len(found) > 1 else reason
        for whose, one in found.items()
        if one.outcome == outcome
        for reason in one.reasons
    ]
    return Quality(outcome, tuple(reasons))


def _judged(found: QualityRecord, control: QualityRecord, again: QualityRecord) -> Quality:
    try:
        judged = judge(compare(found, control, again))
    except InvalidMeasurement as error:
        return Quality("inconclusive", (str(error), "a model with another tokenizer cannot be compared so"))
    return Quality(judged.outcome, judged.reasons)


_WORST_FIRST: tuple[Standing, ...] = ("fail", "inconclusive", "pass")
