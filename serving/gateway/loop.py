"""The event loop of processes that serve: uvloop's where it is installed, asyncio's otherwise.

Owns: that choice. Knows nothing about what runs in it. The same coroutines run in both; uvloop needs less of
the processor for each (docs/gateway-speed.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the loop."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.new_event_loop
    return new_event_loop
