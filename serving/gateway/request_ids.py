"""The id that ties a client's request to our records and to the engine's log.

Owns: which ids from outside are taken. Knows nothing about headers' transport.
"""

from __future__ import annotations

import random
import re

HEADER = "X-Request-Id"
# Visible ASCII only: an id goes into headers, log lines and the engine's own ids.
_ACCEPTABLE = re.compile(r"[\x21-\x7e]{1,128}")


def accept(offered: str | None) -> str:
    """The client's id if it is printable and at most 128 characters long, else a new one."""
    if offered is not None and _ACCEPTABLE.fullmatch(offered):
        return offered
    # Unique, not secret: no call to the system.
    return f"{random.getrandbits(128):032x}"
