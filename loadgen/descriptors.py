"""File descriptors: one for each connection, so that too few of them must be known before the start.

Owns: how many a run needs, raising the limit, and having the table ready. Knows nothing about connections.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadgen.limits import Limits
from serving.errors import UsageError

RESERVE = 100
"""For files, pipes, the UI and the metrics of servers."""


def most_at_once(arrival: Mapping[str, Any], requests: int, limits: Limits) -> int:
    """The most requests of a normalized workload that can be in flight: the slots of a closed loop; in an
    open one all that are sent while the first of them may still wait for its answer."""
    stages = arrival.get("stages") or ()
    slots: list[int | None] = [arrival.get("concurrency"), *(stage.get("concurrency") for stage in stages)]
    if any(slots):
        return min(requests, max(slot for slot in slots if slot))
    rates: list[float | None] = [arrival.get("rate")]
    for stage in stages:
        rates += [stage.get("rate"), stage.get("from_rate"), stage.get("to_rate")]
    fastest = max(filter(None, rates), default=None)
    return requests if fastest is None else min(requests, math.ceil(fastest * limits.total_s))


def ensure(needed: int, *, closed: bool, say: Callable[[str], None]) -> int:
    """Raise the soft limit so that `needed` connections fit; the limit as it is then.

    Says so where it stays too low. Raises: UsageError where a closed loop would certainly run out.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft
    if raised < wanted:
        told = f"{needed} requests may be in flight at once, and this process may open {raised} files"
        fix = "raise the limit (`ulimit -n`), use several processes, or send less"
        if closed:
            raise UsageError(told, where="arrival.concurrency", fix=fix)
        say(f"{told}: requests beyond {raised - RESERVE} in flight will fail; {fix}")
    return raised


def reserve(number: int) -> None:
    """Let the kernel make its table of this process's files large enough for so many more, now.

    It doubles the table when it is full, and in a process with threads waits for all cores to have seen
    that (synchronize_rcu in fs/file.c): 15 to 30 ms, measured at 256 and 512 connections, in mid-run.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = number + RESERVE if soft == resource.RLIM_INFINITY else min(number + RESERVE, soft) - 1
    with Path(os.devnull).open("rb") as nothing:
        try:
            os.fstat(last)
        except OSError:
            os.close(os.dup2(nothing.fileno(), last))
