"""What a local Prometheus has to itself: its deployment's folder, and a port.

Owns: that two never have the same, and what is said then. Knows nothing about Prometheus' process.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from deploy.scrape_config import ports_to_try
from serving.engine.ports import LOOPBACK, free_port, is_free
from serving.errors import Failed


def claim_folder(path: Path) -> int:
    """Hold a deployment's folder, by a lock on this file, as long as the descriptor given back is open.

    Raises: Failed if another process has it; OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Failed(
            "another teapot serves a deployment of this name, and its Prometheus has the data",
            where=str(path.parent),
            fix="give this deployment another name",
        ) from error
    return descriptor


def claim_port(asked: int) -> int:
    """The port asked for or the next that is free; 0: any. Raises: Failed if there is none."""
    if asked == 0:
        return free_port()
    ports = ports_to_try(asked)
    found = next((port for port in ports if is_free(LOOPBACK, port)), None)
    if found is None:
        what = f"ports {ports[0]} to {ports[-1]} are taken"
        raise Failed(what, where="prometheus.port", fix="set it to a free one")
    return found
