"""Takes a core before others do, where it may: a generator that waits for one measures its own waiting.

Owns: the priority of this process and, where Linux schedules sessions as groups (autogroup), of its
session: there niceness alone counts only among the session's own processes. Knows nothing about why.
"""

from __future__ import annotations

import os
from pathlib import Path

PRIORITY = -10
AUTOGROUP = Path("/proc/self/autogroup")
"""See sched(7), "The autogroup feature"."""


def go_first(*, autogroup: Path = AUTOGROUP) -> bool:
    """Raise the priority; False where that needs root or CAP_SYS_NICE."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if autogroup.exists():
            autogroup.write_text(f"{PRIORITY}\n")
    except OSError:
        return False
    return True
