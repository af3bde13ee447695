"""Looks at a serving engine every few seconds, to notice one that lives and does not work.

Owns: the scrape, the question for a token, and the words for what was found. Knows nothing about restarts;
what counts as stuck is `stuck`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from serving.engine.observe import parse_metrics
from serving.engine.readiness import generate_token
from serving.engine.stuck import MARKS, RUNNING, Movement, Signs, StuckWatch, signs

LOOKS = 10
"""Looks within the time after which an engine counts as stuck."""
SELDOM_S = 5.0
ANSWER_WITHIN_S = 10.0
_NAMES = (RUNNING, *MARKS)


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


async def until_stuck(
    url: str, in_flight: Callable[[], int], stuck_after_s: float, clock: Clock | None = None
) -> str:
    """Look until the engine at `url` is found dead inside or stuck; returns in words what was found."""
    clock = clock or Clock()
    watch = StuckWatch(stuck_after_s, clock.now())
    patience = aiohttp.ClientTimeout(min(ANSWER_WITHIN_S, stuck_after_s))
    async with aiohttp.ClientSession(url, timeout=patience) as session:
        while True:
            await clock.sleep(min(SELDOM_S, stuck_after_s / LOOKS))
            if await _is_dead_inside(session):
                return "its API answers and its engine core is dead (/health 503)"
            movement = watch.see(clock.now(), await _look(session), in_flight())
            if movement is Movement.SILENT and await _generates(url, stuck_after_s):
                watch.answered(clock.now())
            elif movement is not Movement.FINE:
                return f"it has requests and nothing has moved for {stuck_after_s:g} s"


async def _is_dead_inside(session: aiohttp.ClientSession) -> bool:
    try:
        async with session.get("/health") as answer:
            return answer.status == 503
    except (aiohttp.ClientError, TimeoutError):
        return False  # no answer is no proof: the scrape counts how long there is none


async def _look(session: aiohttp.ClientSession) -> Signs | None:
    try:
        async with session.get("/metrics") as answer:
            text = await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        return None
    # A whole exposition takes long to parse, and this loop also forwards tokens.
    lines = [line for line in text.splitlines() if line.startswith(_NAMES)]
    return signs(parse_metrics("\n".join([*lines, ""])))


async def _generates(url: str, within_s: float) -> bool:
    try:
        return await generate_token(url, within_s) is None
    except (aiohttp.ClientError, TimeoutError):
        return False
