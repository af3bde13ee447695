"""How much memory processes have resident, read from /proc.

Owns: reading and adding it up. Knows nothing about engines, or which processes are whose. vLLM itself tells
of the process that answers HTTP only, and not of those that hold weights and KV cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pids: Iterable[int], proc: Path = PROC) -> int | None:
    """What these processes have in memory; None where none of them is there any more.

    Pages that several share count once for each: the sum is too large, and grows by what is new all the same.
    """
    found = []
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            found.append(int((proc / str(pid) / "statm").read_text(encoding="ascii").split()[1]))
    return sum(found) * _PAGE_BYTES if found else None
