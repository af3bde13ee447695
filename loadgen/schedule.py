"""When each request is meant to be sent: absolute times made before the run.

Owns: the arrival processes and the random streams of a seed. Knows nothing about clocks, prompts,
files or sending. Times are integer nanoseconds from the start of the phase.

Every open loop is one process of unit rate (its n-th arrival at count n, or at a sum of random gaps of
mean 1) seen through the expected number of requests so far: so ramps and stages need no process of
their own, and a random gap may reach over the border of two stages as it should.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, repeat

from loadgen.workload_arrivals import (
    Arrival,
    Closed,
    Constant,
    Gamma,
    Gaps,
    Poisson,
    Stages,
    TraceTimes,
)

NS = 1_000_000_000


def stream(seed: int | str, name: str) -> random.Random:
    """An own random stream of a seed, independent of every other name's and stable across versions.

    Strings are hashed with SHA-512 by `random.seed` (version 2), so neighbouring seeds share nothing.
    """
    return random.Random(f"{seed}/{name}")


def arrivals(
    arrival: Arrival, rng: random.Random, *, trace_s: Sequence[float] = ()
) -> tuple[int | None, ...]:
    """The intended time of every arrival in ns, ascending; None for each arrival of a closed loop.

    `trace_s` holds the times of a trace's rows in seconds, ascending.
    """
    if isinstance(arrival, Closed) or (isinstance(arrival, Stages) and arrival.closed):
        return (None,) * arrival.prepared_requests()
    if isinstance(arrival, TraceTimes):
        times: Iterator[float] = (time / arrival.speed for time in trace_s)
    else:
        times = _through(_pieces(arrival), _counts(arrival, rng))
    most = None if isinstance(arrival, Stages) else arrival.requests
    end = arrival.duration if isinstance(arrival, TraceTimes) and arrival.duration else math.inf
    planned: list[int | None] = []
    for time in times:
        if time >= end or len(planned) == most:
            break
        planned.append(round(time * NS))
    return tuple(planned)


def stage_of(arrival: Arrival, t_intended_ns: int | None) -> int | None:
    """The stage, from 0, in which a request is meant to be sent; None outside of stages."""
    if not isinstance(arrival, Stages) or t_intended_ns is None:
        return None
    ends = accumulate(round(stage.duration * NS) for stage in arrival.stages)
    return next((i for i, end in enumerate(ends) if t_intended_ns < end), len(arrival.stages) - 1)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A time with a rate that is steady or changes evenly."""

    duration: float
    from_rate: float
    to_rate: float

    @property
    def expected(self) -> float:
        """Requests in it."""
        if self.from_rate == self.to_rate:
            return self.from_rate * self.duration if self.from_rate else 0.0
        return (self.from_rate + self.to_rate) / 2 * self.duration

    def time_of(self, requests: float) -> float:
        """When the expected number of requests since its begin reaches `requests`."""
        if self.from_rate == self.to_rate:
            # Divided and not summed: rounding errors must not add up to drift.
            return requests / self.from_rate
        slope = (self.to_rate - self.from_rate) / self.duration
        # The root of from_rate * t + slope / 2 * t**2 = requests that does not cancel when slope is small.
        root = math.sqrt(max(0.0, self.from_rate**2 + 2 * slope * requests))
        return 2 * requests / (self.from_rate + root) if requests else 0.0


def _pieces(arrival: Constant | Poisson | Gamma | Stages) -> Iterator[_Piece]:
    if isinstance(arrival, Stages):
        return (_Piece(stage.duration, *stage.rates) for stage in arrival.stages)
    duration = math.inf if arrival.duration is None else arrival.duration
    return iter([_Piece(duration, arrival.rate, arrival.rate)])


def _counts(arrival: Constant | Poisson | Gamma | Stages, rng: random.Random) -> Iterator[float]:
    """The arrivals of the process of unit rate."""
    gaps: Gaps = arrival.gaps if isinstance(arrival, Stages) else arrival.process
    if gaps == "constant":
        return (float(n) for n in count())
    shape = arrival.burstiness if isinstance(arrival, Gamma | Stages) else 1.0
    if gaps == "poisson":
        return accumulate(rng.expovariate(1.0) for _ in repeat(None))
    return accumulate(rng.gammavariate(shape, 1 / shape) for _ in repeat(None))


def _through(pieces: Iterator[_Piece], counts: Iterator[float]) -> Iterator[float]:
    """The times at which the expected number of requests reaches each of `counts`; ends with the pieces."""
    begin = before = 0.0
    piece = next(pieces)
    for reached in counts:
        while reached - before >= piece.expected:
            begin, before = begin + piece.duration, before + piece.expected
            following = next(pieces, None)
            if following is None:
                return
            piece = following
        yield begin + piece.time_of(reached - before)
