"""When an engine is ready: it lives, answers /health, and has generated one real token.

Owns: the wait, and what is said when it ends badly. Knows nothing about flags or the gateway.
`/health` alone is not enough: an engine was seen to answer 200 and to crash on its first generation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import aiohttp

from serving.engine.causes import cause_of
from serving.engine.logs import LogTail
from serving.engine.process import EngineProcess
from serving.engine.stages import StartStage, stage_begun
from serving.errors import Failed

POLL_S = 0.2
HEALTH_TIMEOUT_S = 5.0
OnStage = Callable[[StartStage, float], None]
"""Told each stage as it begins, and the seconds since the start."""


async def generate_token(url: str, timeout_s: float | None = None) -> str | None:
    """Ask the engine for one token; None if it came, else what the engine answered instead.

    Raises: aiohttp.ClientError, TimeoutError where no answer comes (`timeout_s` None: waits for ever).
    """
    async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(timeout_s)) as session:
        return await _generate(session)


async def start_engine(engine: EngineProcess, timeout_s: float, on_stage: OnStage) -> LogTail:
    """Start the engine and return, with its log, once it has generated one real token.

    Raises: Failed with the cause and the log's path if it dies, answers wrongly or takes longer than
    `timeout_s`. Whatever ends this early, cancellation included, nothing of the engine is left running.
    """
    log = LogTail(engine.spec.log)
    try:
        engine.start()
        await _until_ready(engine, log, timeout_s, on_stage)
    except BaseException:
        # Not ready means no requests in flight: there is nothing to drain, and SIGTERM during warm-up
        # was seen to orphan workers (vllm #44751).
        engine.kill()
        await engine.stop(within_s=0.0)
        raise
    return log


async def _until_ready(engine: EngineProcess, log: LogTail, timeout_s: float, on_stage: OnStage) -> None:
    started = time.monotonic()
    stages = _Stages(on_stage, started)
    stages.begin(StartStage.IMPORTING)
    ready = asyncio.create_task(_first_token(engine.url, stages))
    death = asyncio.create_task(engine.wait())
    try:
        while not ready.done() and not death.done():
            stages.hear(log)
            if time.monotonic() - started > timeout_s:
                raise _too_slow(engine, stages.last, timeout_s)
            await asyncio.wait({ready, death}, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
        if death.done():
            raise _died(engine, log, death.result(), stages.last)
        stages.hear(log)
        problem = ready.result()
        if problem:
            raise _failed(engine, log, "answers /health but cannot generate", problem)
        stages.begin(StartStage.READY)
    finally:
        ready.cancel()
        death.cancel()
        await asyncio.gather(ready, death, return_exceptions=True)


class _Stages:
    """Tells each stage once, when it begins."""

    def __init__(self, on_stage: OnStage, started: float) -> None:
        self._on_stage, self._started = on_stage, started
        self._seen: set[StartStage] = set()
        self.last = StartStage.IMPORTING

    def begin(self, stage: StartStage) -> None:
        if stage not in self._seen:
            self._seen.add(stage)
            self.last = stage
            self._on_stage(stage, time.monotonic() - self._started)

    def hear(self, log: LogTail) -> None:
        for line in log.new_lines():
            if stage := stage_begun(line):
                self.begin(stage)


async def _first_token(url: str, stages: _Stages) -> str | None:
    """None once a token was generated; else what the engine answered instead. Waits for ever for /health."""
    async with aiohttp.ClientSession(url) as session:
        while not await _healthy(session):  # noqa: ASYNC110 (nor does a server)
            await asyncio.sleep(POLL_S)
    stages.begin(StartStage.FIRST_TOKEN)
    try:
        return await generate_token(url)
    except aiohttp.ClientError as error:
        # The connection broke: the engine is dying. Its death, with a cause in the log, tells more.
        await asyncio.sleep(HEALTH_TIMEOUT_S)
        return f"{type(error).__name__}: {error}"


async def _healthy(session: aiohttp.ClientSession) -> bool:
    try:
        async with session.get("/health", timeout=aiohttp.ClientTimeout(HEALTH_TIMEOUT_S)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


async def _generate(session: aiohttp.ClientSession) -> str | None:
    async with session.get("/v1/models") as answer:
        model = (await answer.json())["data"][0]["id"]
    body = {"model": model, "prompt": "The capital of France is", "max_tokens": 1, "temperature": 0}
    async with session.post("/v1/completions", json=body) as answer:
        if answer.status != 200:
            return f"HTTP {answer.status}: {(await answer.text())[:300]}"
        tokens = _generated(await answer.json())
        return None if tokens else "HTTP 200 without a generated token"


def _generated(document: dict[str, Any]) -> int:
    return int((document.get("usage") or {}).get("completion_tokens") or 0)


def _died(engine: EngineProcess, log: LogTail, code: int, stage: StartStage) -> Failed:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return _failed(engine, log, f"died at stage '{stage.value}'", f"{how}, and its log names no error")


def _failed(engine: EngineProcess, log: LogTail, how: str, otherwise: str) -> Failed:
    cause = cause_of(log.finish())
    what, fix = (cause.cause, cause.cure) if cause else (otherwise, "see the log")
    return Failed(f"engine {engine.spec.name} {how}: {what}", where=str(engine.spec.log), fix=fix)


def _too_slow(engine: EngineProcess, stage: StartStage, timeout_s: float) -> Failed:
    return Failed(
        f"engine {engine.spec.name} was not ready within {timeout_s:g} s (last stage: {stage.value})",
        where=str(engine.spec.log),
        fix="see the log, or raise engine.start_timeout",
    )
