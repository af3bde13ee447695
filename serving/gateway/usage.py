"""How many tokens a request used, by its size: for rates, where the engine does not say.

Owns: the estimate. Knows nothing about rates.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 4
"""Of plain text in English; code and other scripts have fewer."""
BYTES_PER_EVENT = 256
"""Of a streamed event, which holds one token unless the engine speculates."""


def estimate_prompt(body_bytes: int) -> int:
    """Tokens of a request's body, before it is answered."""
    return -(-body_bytes // BYTES_PER_TOKEN)


def estimate_output(answer_bytes: int, *, streamed: bool) -> int:
    """Tokens of an answer that did not say how many it has."""
    return -(-answer_bytes // (BYTES_PER_EVENT if streamed else BYTES_PER_TOKEN))
