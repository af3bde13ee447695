"""How many tokens an answer used, as the engine says at its end.

Owns: reading that from the last bytes of an answer, without parsing the rest. Knows nothing about rates or
metrics.
"""

from __future__ import annotations

import re

TAIL_BYTES = 2048
"""How much of an answer's end is looked at; usage is its last object, or in its last event but one."""
_MARK = b'_tokens"'
_LONGEST_NAME = len(b'"completion')
_PROMPT = re.compile(rb'"(?:prompt|input)_tokens"\s*:\s*(\d{1,12})')
_OUTPUT = re.compile(rb'"(?:completion|output)_tokens"\s*:\s*(\d{1,12})')


def read_usage(tail: bytes) -> tuple[int, int] | None:
    """Prompt and output tokens, None if the end of the answer does not say."""
    first = tail.find(_MARK)
    if first < 0:
        return None
    # Most of a stream's end is text, over which the expressions are slow.
    start = max(0, first - _LONGEST_NAME)
    prompt, output = _PROMPT.findall(tail, start), _OUTPUT.findall(tail, start)
    if not prompt:
        return None
    return int(prompt[-1]), int(output[-1]) if output else 0
