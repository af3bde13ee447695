"""When each request is meant to be sent: absolute times made before the run.

Owns: the arrival processes and the random streams of a seed. Knows nothing about clocks, prompts or
sending. Times are integer nanoseconds from the start of the phase.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import count

from loadgen.workload import Arrival, Closed, Constant, Poisson

NS = 1_000_000_000


def stream(seed: int | str, name: str) -> random.Random:
    """An own random stream of a seed, independent of every other name's and stable across versions.

    Strings are hashed with SHA-512 by `random.seed` (version 2), so neighbouring seeds share nothing.
    """
    return random.Random(f"{seed}/{name}")


def arrivals(arrival: Arrival, rng: random.Random) -> tuple[int | None, ...]:
    """The intended time of every request in ns, ascending; None for each request of a closed loop."""
    if isinstance(arrival, Closed):
        return (None,) * arrival.prepared_requests()
    times = _constant(arrival) if isinstance(arrival, Constant) else _poisson(arrival, rng)
    end = math.inf if arrival.duration is None else arrival.duration
    most = math.inf if arrival.requests is None else arrival.requests
    planned: list[int | None] = []
    for time in times:
        if time >= end or len(planned) >= most:
            break
        planned.append(round(time * NS))
    return tuple(planned)


def _constant(arrival: Constant) -> Iterator[float]:
    # i / rate and not a running sum: rounding errors must not add up to drift.
    return (i / arrival.rate for i in count())


def _poisson(arrival: Poisson, rng: random.Random) -> Iterator[float]:
    time = 0.0
    while True:
        time += rng.expovariate(arrival.rate)
        yield time
