"""Engines of some modes, started and judged: what tests of modes and the table of modes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
from e2e.engines import Plan, Running

from serving.connectors.nixl import decode_body, params_of, prefill_body
from serving.engine.attestation import attest
from serving.engine.leftovers import leftovers
from serving.engine.reference import References, model_fingerprint
from serving.engine.weights import read_config
from serving.modes.mode import Verdict

REMOTE_PROMPT = "The river runs to the sea and the fox jumps over the dog. " * 20


def references(folder: Path, model: Path) -> References:
    """A place for reference answers of a model."""
    config = read_config(model)
    assert isinstance(config, dict)
    return References(folder, model_fingerprint(str(model), config))


async def verdicts(what: Plan, engine: Running, known: References | None = None) -> list[Verdict]:
    """What each mode of a running engine is judged to be."""
    process = engine.process
    return await attest(
        process.url,
        what.deployment.modes,
        engine.context,
        engine.log.lines,
        processes=lambda: leftovers(process.id, process.pid),
        references=known,
    )


async def two_legs(model: str, prefiller: str, decoder: str) -> tuple[dict[str, Any], str]:
    """One request over both engines: the usage of the answer, and the decoder's metrics after it."""
    body = {"model": model, "prompt": REMOTE_PROMPT, "max_tokens": 4, "temperature": 0}
    headers = {"X-Request-Id": "e2e-two-legs"}
    async with aiohttp.ClientSession(headers=headers, raise_for_status=True) as session:
        async with session.post(f"{prefiller}/v1/completions", json=prefill_body(body)) as first:
            params = params_of(await first.json())
        assert params is not None, "the prefilling engine gave no kv_transfer_params"
        async with session.post(f"{decoder}/v1/completions", json=decode_body(body, params)) as second:
            usage = (await second.json())["usage"]
        async with session.get(f"{decoder}/metrics") as answer:
            return usage, await answer.text()


def sample(metrics: str, start: Sequence[str]) -> float:
    """The sum of the samples whose line has all these words."""
    lines = [line for line in metrics.splitlines() if not line.startswith("#")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if all(word in line for word in start))
