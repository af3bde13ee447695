"""Why an engine died, from the lines of its log.

Owns: falling back on the log's own errors where the table of known messages (`serving.facts`) is
silent. Knows nothing about files or processes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from serving.facts.load import engine_messages
from serving.facts.messages import Cause, diagnose

_ERROR = re.compile(r"(?:^|\) )(?:ERROR|CRITICAL) \d\d-\d\d [\d:]+ \[[^\]]*\] *(?P<text>\S.*)")
_TRACEBACK = re.compile(r"^(?:Traceback |File |\^|raise |\w+Error$)")


def cause_of(lines: Sequence[str]) -> Cause | None:
    """What the log names as the cause, in one line and with a cure; None if it names none."""
    if found := diagnose(lines, engine_messages()):
        return found
    for line in reversed(lines):
        error = _ERROR.search(line)
        if error and not _TRACEBACK.match(error["text"]):
            return Cause(error["text"].strip(), "see the log", line)
    return None
