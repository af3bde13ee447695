"""Runs a stack around some work: up, the work, down, whichever of work, signal or engine's end comes first.

Owns: who wins when several things end. Knows nothing about the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from deploy.prepared import Prepared
from deploy.signals import StopSignal
from deploy.stack import Stack
from serving.console import Console

Work = Callable[[Stack], Awaitable[int]]
"""What is done while the stack serves; its result is the exit code. It is cancelled by a signal."""


async def run_stack(
    prepared: Prepared, console: Console, work: Work, *, allow_ineffective: bool = False
) -> int:
    """Bring the stack up, do the work, take it down; return the work's exit code or the signal's.

    Raises: Failed if an engine cannot start, is proven not in effect, or none is left to serve.
    """
    stop = StopSignal()
    stack = Stack(prepared, console, allow_ineffective)
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


async def _serve(stack: Stack, work: Work) -> int:
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
