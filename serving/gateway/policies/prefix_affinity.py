"""Prefix affinity: requests that begin alike go to the backend that has the beginning in its cache.

Owns: what was sent where, as hashes in bounded memory, and the load from which on a hot prefix spreads.
Knows nothing about tokens or engines' caches: a body, from its messages or prompt on, stands for them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from serving.gateway.policies.policy import Ask, Candidate, least_loaded

BLOCK_BYTES = 256
MAX_BLOCKS = 128
"""32 KiB of a body are looked at: about 8,000 tokens. Longer prompts that differ later count as alike."""
MAX_ENTRIES = 65_536
LOAD_CAP = 1.5
"""A backend gets no request for its cache's sake beyond 1.5 times the mean load (consistent hashing with
bounded loads, Mirrokni, Thorup and Zadimoghaddam, 2016)."""


class PrefixAffinity:
    """Remembers up to `max_entries` blocks, the least recently used ones forgotten first."""

    def __init__(self, max_entries: int = MAX_ENTRIES, load_cap: float = LOAD_CAP) -> None:
        self._max_entries = max_entries
        self._load_cap = load_cap
        self._seen: OrderedDict[int, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def choose(self, ask: Ask, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate that had the longest beginning of this request, unless it has too much to do."""
        chain = list(block_hashes(ask.body))
        roomy = {c.name: c for c in candidates if c.in_flight + 1 <= self._most(candidates)}
        known = (self._seen.get(block) for block in reversed(chain))
        chosen = next((roomy[name] for name in known if name in roomy), None)
        if chosen is None:
            chosen = least_loaded(candidates)
        for block in chain:
            self._seen[block] = chosen.name
            self._seen.move_to_end(block)
        while len(self._seen) > self._max_entries:
            self._seen.popitem(last=False)
        return chosen

    def _most(self, candidates: Sequence[Candidate]) -> int:
        total = sum(candidate.in_flight for candidate in candidates) + 1
        return math.ceil(self._load_cap * total / len(candidates))


def block_hashes(body: bytes) -> Iterator[int]:
    """One hash for each whole block of the prompt, each of all that comes before it too.

    The hash is Python's own: quick, and different in each process, so that no client can make collisions.
    """
    start = max(body.find(b'"messages"'), body.find(b'"prompt"'), body.find(b'"input"'), 0)
    chain = 0
    last = min(len(body), start + MAX_BLOCKS * BLOCK_BYTES)
    for position in range(start, last - BLOCK_BYTES + 1, BLOCK_BYTES):
        chain = hash((chain, body[position : position + BLOCK_BYTES]))
        yield chain
