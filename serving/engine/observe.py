"""What a running engine shows: metrics around a probe, the probe's answers, the log.

Owns: the probe and the scraping. Knows nothing about modes: it makes the one `Observation`
that all of them judge.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from serving.modes.mode import MetricKey, Observation

CACHE_CONFIG = "vllm:cache_config_info"
REQUESTS = "vllm:request_success_total"
PROBE_TOKENS = 4
PROBE_REPEATS = 2
SETTLE_WITHIN_S = 5.0
SETTLE_POLL_S = 0.1
_SENTENCE = "The quick brown fox jumps over the lazy dog while the river runs to the sea. "
_SENTENCES = 30
"""30 sentences of 17 or more tokens: over 500 tokens, three whole blocks of 128 and more."""
_CHARACTERS_PER_TOKEN = 3
"""No tokenizer makes fewer of plain English, so a probe cut by this fits a small context."""


def probe_prompt(head: str, max_model_len: int | None = None) -> str:
    """A repetitive prompt that begins with `head`, several blocks long, cut to fit `max_model_len` tokens.

    The head must be new in each run, else an earlier run has warmed the prefix cache. The repetition
    gives n-gram speculation something to find.
    """
    prompt = f"{head}. " + _SENTENCE * _SENTENCES
    if max_model_len is None:
        return prompt
    return prompt[: max(1, max_model_len - 2 * PROBE_TOKENS) * _CHARACTERS_PER_TOKEN]


def parse_metrics(text: str) -> dict[MetricKey, float]:
    """The samples of a Prometheus exposition, by exposed name and sorted labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def cache_config_of(samples: Mapping[MetricKey, float]) -> dict[str, str]:
    """The labels of `vllm:cache_config_info`; empty if there is none yet."""
    return next((dict(labels) for name, labels in samples if name == CACHE_CONFIG), {})


async def observe(url: str, head: str, log: Sequence[str], max_model_len: int | None = None) -> Observation:
    """Send the same greedy probe twice to an idle engine at `url`, and see what that moved.

    Raises: aiohttp.ClientError where the engine does not answer.
    """
    async with aiohttp.ClientSession(url, raise_for_status=True) as session:
        async with session.get("/v1/models") as answer:
            model = (await answer.json())["data"][0]["id"]
        body = {
            "model": model,
            "prompt": probe_prompt(head, max_model_len),
            "max_tokens": PROBE_TOKENS,
            "temperature": 0,
            "ignore_eos": True,
        }
        before = await _settled(session, None)
        # One after the other: the first must have filled the cache before the second asks.
        answers = [await _complete(session, body) for _ in range(PROBE_REPEATS)]
        after = await _settled(session, finished_requests(before) + PROBE_REPEATS)
    return Observation(before, after, cache_config_of(after), log, answers)


def finished_requests(samples: Mapping[MetricKey, float]) -> float:
    """How many requests the engine has finished."""
    return sum(value for (name, _), value in samples.items() if name == REQUESTS)


async def _complete(session: aiohttp.ClientSession, body: Mapping[str, object]) -> str:
    async with session.post("/v1/completions", json=body, timeout=aiohttp.ClientTimeout(120.0)) as answer:
        return str((await answer.json())["choices"][0]["text"])


async def _settled(session: aiohttp.ClientSession, finished: float | None) -> dict[MetricKey, float]:
    """The metrics once they stand still and tell of `finished` requests, or after SETTLE_WITHIN_S.

    vLLM counts a request after its answer has left, so the first scrape may be too early.
    """
    until = time.monotonic() + SETTLE_WITHIN_S
    last = await _scrape(session)
    while time.monotonic() < until:
        await asyncio.sleep(SETTLE_POLL_S)
        now = await _scrape(session)
        if _vllm_counters(now) == _vllm_counters(last) and (
            finished is None or finished_requests(now) >= finished
        ):
            return now
        last = now
    return last


def _vllm_counters(samples: Mapping[MetricKey, float]) -> dict[MetricKey, float]:
    return {key: value for key, value in samples.items() if key[0].startswith("vllm:")}


async def _scrape(session: aiohttp.ClientSession) -> dict[MetricKey, float]:
    async with session.get("/metrics") as answer:
        return parse_metrics(await answer.text())
