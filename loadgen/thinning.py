"""Which worker sends which request: one timetable, dealt out without a word between workers.

Owns: the dealing. Knows nothing about processes, locust or how many workers there should be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from loadgen.records import Planned


def thin(timetable: Sequence[Planned], worker: int, workers: int, *, seed: int = 1) -> tuple[Planned, ...]:
    """The requests of worker `worker` (from 0) of `workers`; each belongs to exactly one of them.

    A timed request is dealt by a hash of the seed and its index, so that a thinned Poisson process is
    one again, independent of the others'. Warm-up and closed loops are dealt in turn, so that slots have
    equally much to do. A conversation stays with one worker. Raises: ValueError for no such worker.
    """
    if not 0 <= worker < workers:
        raise ValueError(f"there is no worker {worker} of {workers}")
    first: dict[int, Planned] = {}
    for planned in timetable:
        if planned.conversation is not None:
            first.setdefault(planned.conversation, planned)

    def owner(planned: Planned) -> int:
        if planned.conversation is not None:
            planned = first[planned.conversation]
        if planned.phase == "warmup" or planned.t_intended_ns is None:
            number = planned.index if planned.conversation is None else planned.conversation
            return number % workers
        digest = hashlib.blake2b(f"{seed}/thin/{planned.index}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % workers

    return tuple(planned for planned in timetable if owner(planned) == worker)


def share(number: int, worker: int, workers: int) -> int:
    """How many of `number` slots worker `worker` (from 0) of `workers` gets: all together are `number`."""
    return number // workers + (worker < number % workers)
