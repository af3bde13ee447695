"""Why an engine died, from the lines of its log.

Owns: finding the one line that names the cause. Known causes with their cures are data in
`serving.facts.messages`; this is for the rest. Knows nothing about files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PREFIX = re.compile(
    r"^(?:\([\w-]+(?: \w+=[\w-]+)*\) )*(?:(?P<level>[A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?"
)
_EXCEPTION = re.compile(
    r"^(?:[\w.]+\.)?(?P<name>[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure)): (?P<text>.+)"
)
_SECOND_HAND = re.compile(
    r"Engine core initialization failed|See root cause above|WorkerProc initialization failed|EngineDeadError"
    r"|Executor failed|CancelledError"
)


def cause_of(lines: Sequence[str]) -> str | None:
    """The cause in one line: the last exception that does not merely report another, else the last ERROR."""
    bare = [(match["level"], line[match.end() :].strip()) for line in lines if (match := _PREFIX.match(line))]
    first_hand = [text for _, text in bare if _EXCEPTION.match(text) and not _SECOND_HAND.search(text)]
    if first_hand:
        return first_hand[-1]
    errors = [text for level, text in bare if level in ("ERROR", "CRITICAL") and text]
    if errors:
        return errors[-1]
    any_exception = [text for _, text in bare if _EXCEPTION.match(text)]
    return any_exception[-1] if any_exception else None
