"""Takes a core before others do, where it may: a generator that waits for one measures its own waiting.

Owns: how this process goes first. Knows nothing about why. Best is the scheduler's real-time class: it
takes a core at once, where raised niceness only gets more of it, some milliseconds later. Children are
ordinary again. Where that is not allowed: niceness, of the process and, where Linux schedules sessions as
groups (autogroup), of its session, for niceness alone counts only among the session's own processes.
What already goes first, because someone started it so, stays as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

PRIORITY = -10
AUTOGROUP = Path("/proc/self/autogroup")
"""See sched(7), "The autogroup feature"."""
First = Literal["real-time", "nice", "ordinary"]


def go_first(*, autogroup: Path = AUTOGROUP, real_time: bool = True) -> First:
    """Raise the priority as far as is allowed (root or CAP_SYS_NICE), and say how far."""
    if real_time and hasattr(os, "SCHED_RR"):
        if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
            return "real-time"
        try:
            # The lowest of the class: it need only be in it. Linux leaves the others 5 % of each second.
            lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, lowest)
        except OSError:
            pass
        else:
            return "real-time"
    try:
        if os.getpriority(os.PRIO_PROCESS, 0) > PRIORITY:
            os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if autogroup.exists() and _niceness(autogroup) > PRIORITY:
            autogroup.write_text(f"{PRIORITY}\n")
    except OSError:
        return "ordinary"
    return "nice"


def _niceness(autogroup: Path) -> int:
    """Of a session, from a line such as `/autogroup-84 nice 0`."""
    told = re.search(r"nice (-?\d+)", autogroup.read_text())
    return int(told[1]) if told else 0
