"""What a running engine shows: metrics around the probes, the probes' answers, its workers, its log.

Owns: the scraping and the order of probes. Knows nothing about modes: it makes the one `Observation`
that all of them judge.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from serving.engine.leftovers import Process
from serving.engine.probes import Prober, repeated_prompt
from serving.modes.mode import MetricKey, Observation

CACHE_CONFIG = "vllm:cache_config_info"
REQUESTS = "vllm:request_success_total"
WORKER = "VLLM::Worker"
"""How vLLM names its worker processes, such as `VLLM::Worker_TP1` (0.32.0)."""
SCRAPE_TIMEOUT_S = 60.0
"""A busy engine on few cores is slow, not gone."""
SETTLE_WITHIN_S = 5.0
SETTLE_POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is to be looked at; probes that nobody asked for are not sent."""

    repeat: str | None = None
    """The beginning, never used before, of the long prompt that is sent twice."""
    answers: bool = True
    """Whether the short fixed prompts are sent."""
    added_models: Sequence[str] = ()
    """Models beside the first that are sent the short prompts too, where the engine offers them."""
    max_model_len: int | None = None
    processes: Callable[[], Sequence[Process]] | None = None
    """The engine's living processes; None: they cannot be looked at."""


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


async def cache_config(url: str) -> dict[str, str]:
    """What the engine at `url` tells of its KV cache; empty if it tells nothing yet.

    Raises: aiohttp.ClientError or TimeoutError where it does not answer.
    """
    async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(SCRAPE_TIMEOUT_S)) as session:
        return cache_config_of(await _scrape(session))


def workers(processes: Sequence[Process]) -> int:
    """How many of an engine's processes are workers; an engine of one rank may have none beside its core."""
    return sum(process.command.startswith(WORKER) for process in processes)


async def observe(url: str, look: Look, log: Sequence[str]) -> Observation:
    """Send the probes to an idle engine at `url`, and see what they moved.

    Raises: aiohttp.ClientError where the engine does not answer.
    """
    async with aiohttp.ClientSession(url) as session:
        models = await _models(session)
        prober = Prober(session, models[0])
        before = await settled(session, None)
        repeated = await prober.twice(repeated_prompt(look.repeat, look.max_model_len)) if look.repeat else []
        answers = await prober.answers() if look.answers else []
        added = {
            name: [answer.text for answer in await Prober(session, name).answers()]
            for name in look.added_models
            if name in models
        }
        sent = len(repeated) + len(answers) + sum(map(len, added.values()))
        after = await settled(session, finished_requests(before) + sent) if sent else before
    return Observation(
        before=before,
        after=after,
        cache_config=cache_config_of(after),
        log=log,
        answers=[answer.text for answer in answers],
        repeated=[answer.text for answer in repeated],
        longest_prompt_tokens=max((answer.prompt_tokens for answer in (*repeated, *answers)), default=None),
        ranks=workers(look.processes()) if look.processes else None,
        models=models,
        answers_by=added,
    )


def finished_requests(samples: Mapping[MetricKey, float]) -> float:
    """How many requests the engine has finished."""
    return sum(value for (name, _), value in samples.items() if name == REQUESTS)


async def settled(session: aiohttp.ClientSession, finished: float | None) -> dict[MetricKey, float]:
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


async def _models(session: aiohttp.ClientSession) -> list[str]:
    async with session.get("/v1/models", raise_for_status=True) as answer:
        return [str(model["id"]) for model in (await answer.json())["data"]]


def _vllm_counters(samples: Mapping[MetricKey, float]) -> dict[MetricKey, float]:
    return {key: value for key, value in samples.items() if key[0].startswith("vllm:")}


async def _scrape(session: aiohttp.ClientSession) -> dict[MetricKey, float]:
    async with session.get("/metrics", raise_for_status=True) as answer:
        return parse_metrics(await answer.text())
