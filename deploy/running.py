"""Runs a stack around some work: up, the work, down, whichever of work, signal or engine's end comes first.

Owns: who wins when several things end. Knows nothing about the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from deploy.prepared import Prepared
from deploy.signals import StopSignal
from deploy.stack import Stack
from serving.console import Console
from serving.errors import Failed

Work = Callable[[Stack], Awaitable[int]]
"""What is done while the stack serves; its result is the exit code. It is cancelled by a signal."""


class Runs(Protocol):
    """What comes up, serves until it cannot, and goes down."""

    async def up(self) -> None:
        """Serve. Raises: Failed."""

    async def ended(self) -> Failed:
        """Return when and why it cannot serve any more."""

    async def down(self) -> None:
        """End."""


S = TypeVar("S", bound=Runs)


async def run_stack(
    prepared: Prepared, console: Console, work: Work, *, allow_ineffective: bool = False
) -> int:
    """Bring the stack up, do the work, take it down; return the work's exit code or the signal's.

    Raises: Failed if an engine cannot start, is proven not in effect, or none is left to serve.
    """
    return await run(Stack(prepared, console, allow_ineffective), console, work)


async def run(stack: S, console: Console, work: Callable[[S], Awaitable[int]]) -> int:
    """The same for whatever has a stack's manner."""
    stop = StopSignal()
    signalled = asyncio.create_task(stop.wait())
    main = asyncio.create_task(_serve(stack, work))
    try:
        await first_of(signalled, main)
        if main.done():
            return main.result()
        console.say("stopping")
        main.cancel()
        with suppress(asyncio.CancelledError):
            await main
        return stop.exit_code
    finally:
        signalled.cancel()
        await stack.down()


async def _serve(stack: S, work: Callable[[S], Awaitable[int]]) -> int:
    await stack.up()
    doing = asyncio.ensure_future(work(stack))
    ended = asyncio.create_task(stack.ended())
    try:
        await first_of(doing, ended)
        if doing.done():
            return doing.result()
        raise ended.result()
    finally:
        doing.cancel()
        ended.cancel()
        await asyncio.gather(doing, ended, return_exceptions=True)


async def first_of(*tasks: asyncio.Task[object]) -> asyncio.Task[object]:
    """The first of the tasks to end; the others run on."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return next(task for task in tasks if task in done)
