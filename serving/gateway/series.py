"""The series of requests that ended alike, found once: finding each anew would cost more than counting.

Owns: which labels each metric's series has. Knows nothing about what is counted when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from serving.gateway.tallies import Count, Counts, Times, Timings

OFTEN_COUNTED = ("gateway_requests", "gateway_prompt_tokens", "gateway_output_tokens", "gateway_connections")
OFTEN_TIMED = (
    "gateway_duration", "gateway_queue", "gateway_first_byte", "gateway_tpot", "gateway_inter_chunk",
)  # fmt: skip
"""The metrics that most requests count in, by their keys in the table of metrics."""


class Alike(NamedTuple):
    """What requests have in common whose series are the same."""

    path: str
    kind: str
    code: str
    streamed: str
    revision: str
    role: str
    backend: str
    traffic: str


@dataclass(frozen=True, slots=True)
class Families:
    """The metrics of `OFTEN_COUNTED` and `OFTEN_TIMED`."""

    counts: Mapping[str, Counts]
    timings: Mapping[str, Timings]


class Series:
    """The series of one kind of request. Each comes into being when it is first counted in."""

    def __init__(self, families: Families, alike: Alike) -> None:
        self._counts = families.counts
        self._timings = families.timings
        self._alike = alike
        self._where = alike[4:]

    @cached_property
    def requests(self) -> Count:
        """How they ended."""
        path, kind, code, *_ = self._alike
        return self._counts["gateway_requests"].at(path, kind, code, *self._where)

    @cached_property
    def duration(self) -> Times:
        """From head to end."""
        path, kind, _, streamed, *_ = self._alike
        return self._timings["gateway_duration"].at(path, kind, streamed, *self._where)

    @cached_property
    def queue(self) -> Times:
        """Until they were let through."""
        return self._timings["gateway_queue"].at(self._alike.path)

    @cached_property
    def first_byte(self) -> Times:
        """Until the first byte was forwarded."""
        path, streamed = self._alike.path, self._alike.streamed
        return self._timings["gateway_first_byte"].at(path, streamed, *self._where)

    @cached_property
    def tpot(self) -> Times:
        """Time per output token."""
        return self._timings["gateway_tpot"].at(self._alike.path, *self._where)

    @cached_property
    def gaps(self) -> Times:
        """Between the pieces of an answer."""
        return self._timings["gateway_inter_chunk"].at(*self._where)

    @cached_property
    def prompt_tokens(self) -> Count:
        """Tokens in."""
        return self._counts["gateway_prompt_tokens"].at(*self._where)

    @cached_property
    def output_tokens(self) -> Count:
        """Tokens out."""
        return self._counts["gateway_output_tokens"].at(*self._where)

    @cached_property
    def reused(self) -> Count:
        """Over a kept connection."""
        return self._counts["gateway_connections"].at(*self._where[:3], "reused")

    @cached_property
    def connected(self) -> Count:
        """Over a new connection."""
        return self._counts["gateway_connections"].at(*self._where[:3], "new")
