"""The words between the leading process and its workers.

Owns: their names, and which machine this is. Knows nothing about what is done about them.
"""

from __future__ import annotations

import platform
from pathlib import Path

PLAY = "teapot_play"
"""To a worker: take part `worker` of `workers` of the run in `folder`."""
NEED = "teapot_need"
"""From a worker on another machine: I cannot see that folder."""
GIVEN = "teapot_given"
"""To it: the manifest and the timetable."""
READY = "teapot_ready"
"""From a worker: my warm-up has ended."""
GO = "teapot_go"
"""To a worker: the measured phase starts at `start_ns` of the leading process's clock."""
STOP = "teapot_stop"
"""To a worker: send nothing more; with `cut`, end what is in flight."""
RECORDS = "teapot_records"
"""From a worker on another machine: some lines of its records."""
DONE = "teapot_done"
"""From a worker: its account, its live figures, or its error."""

TO_WORKERS = (PLAY, GIVEN, GO, STOP)
FROM_WORKERS = (NEED, READY, RECORDS, DONE)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine() -> str:
    """A name that is equal only where clocks and folders are shared: one start of one machine."""
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else platform.node()
