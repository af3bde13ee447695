"""How long each prompt and each answer is: lengths drawn from what the workload file asks for.

Owns: the distributions and their formulas. Knows nothing about files (their numbers come in) and
prompts. The length of a request depends on the seed and its index alone, not on the order of drawing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import NormalDist

from loadgen.schedule import stream
from loadgen.workload_lengths import Between, Fixed, FromFile, Length, Lognormal, Normal, Uniform
from serving.errors import UsageError

Draw = Callable[[int], int]
"""The length of request `index`, in tokens."""


def drawer(length: Length, *, seed: int | str, name: str, files: Mapping[str, Sequence[int]]) -> Draw:
    """A function that draws. `name` keeps the lengths of prompts and answers independent of each other.

    `files` holds the numbers of each file by its name. Raises: UsageError if bounds leave out all of a
    distribution.
    """
    if isinstance(length, Fixed):
        return lambda _index: length.tokens
    if isinstance(length, FromFile):
        numbers = files[length.file]
        return lambda index: numbers[index % len(numbers)]
    if isinstance(length, Uniform):
        least, most = length.min, length.max
        return lambda index: stream(seed, f"{name}/{index}").randint(least, most)
    draw = _normal(length) if isinstance(length, Normal) else _lognormal(length)
    return lambda index: draw(stream(seed, f"{name}/{index}"))


def _normal(length: Normal) -> Callable[[Random], int]:
    low, high = length.min - 0.5, math.inf if length.max is None else length.max + 0.5
    return _within(length, NormalDist(length.mean, length.std), low, high, round)


def _lognormal(length: Lognormal) -> Callable[[Random], int]:
    # Moments of a lognormal: mean = exp(mu + sigma^2 / 2), var / mean^2 = exp(sigma^2) - 1.
    sigma = math.sqrt(math.log1p((length.std / length.mean) ** 2))
    mu = math.log(length.mean) - sigma**2 / 2
    low = math.log(length.min - 0.5)
    high = math.inf if length.max is None else math.log(length.max + 0.5)
    return _within(length, NormalDist(mu, sigma), low, high, lambda x: round(math.exp(x)))


def _within(
    length: Between, normal: NormalDist, low: float, high: float, whole: Callable[[float], int]
) -> Callable[[Random], int]:
    """Draw from the part of a normal between `low` and `high` by its inverse: one number for each length."""
    below, above = normal.cdf(low), normal.cdf(high)
    if above - below < 1e-6:
        most = "no end" if length.max is None else length.max
        raise UsageError(
            f"the bounds {length.min} to {most} leave out all but a millionth of the distribution",
            where="prompts",
            fix="move min and max to where mean and std lie",
        )

    def draw(rng: Random) -> int:
        share = below + (above - below) * rng.random()
        value = normal.inv_cdf(min(max(share, 1e-300), 1 - 2**-53))
        drawn = max(length.min, whole(value))
        return drawn if length.max is None else min(length.max, drawn)

    return draw
