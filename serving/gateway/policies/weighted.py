"""Shares of traffic: which revision serves a request, by weight.

Owns: the two ways to keep shares: evenly over requests, or by a key that stays where it is. Knows nothing
about backends. A key moves only when its revision loses share or another gains it, and then as few as
possible do (weighted rendezvous hashing, Schindelhauer and Schomaker, 2005).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from serving.gateway.policies.session_affinity import rank

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly however many there are: a canary of 1 % gets its first request
among the first hundred, and nobody needs to draw lots."""


def even_point(count: int) -> float:
    """The point in 0..1 of request number `count`."""
    return (count * _GOLDEN) % 1.0


def by_point(weights: Mapping[str, float], point: float) -> str:
    """The name whose share a point in 0..1 falls into. `weights` has at least one above 0."""
    left = point * sum(weights.values())
    last = ""
    for name, weight in weights.items():
        if weight <= 0:
            continue
        last = name
        left -= weight
        if left < 0:
            break
    return last


def by_key(weights: Mapping[str, float], key: str) -> str:
    """The name that a key belongs to. `weights` has at least one above 0."""
    shares = {name: weight for name, weight in weights.items() if weight > 0}
    return max(shares, key=lambda name: -shares[name] / math.log((rank(key, name) + 1) / (2**64 + 1)))
