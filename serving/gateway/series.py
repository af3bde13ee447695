"""The series of requests that ended alike, found once: finding each anew would cost more than counting.

Owns: which labels each metric's series has. Knows nothing about what is counted when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from prometheus_client import Counter, Histogram

OFTEN_COUNTED = ("gateway_requests", "gateway_prompt_tokens", "gateway_output_tokens", "gateway_connections")
OFTEN_TIMED = ("gateway_duration", "gateway_queue", "gateway_first_byte", "gateway_tpot")
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

    counters: Mapping[str, Counter]
    histograms: Mapping[str, Histogram]


class Series:
    """The series of one kind of request. Each comes into being when it is first counted in."""

    def __init__(self, families: Families, alike: Alike) -> None:
        self._counters = families.counters
        self._histograms = families.histograms
        self._alike = alike
        self._where = alike[4:]

    @cached_property
    def requests(self) -> Counter:
        """How they ended."""
        path, kind, code, *_ = self._alike
        return self._counters["gateway_requests"].labels(path, kind, code, *self._where)

    @cached_property
    def duration(self) -> Histogram:
        """From head to end."""
        path, kind, _, streamed, *_ = self._alike
        return self._histograms["gateway_duration"].labels(path, kind, streamed, *self._where)

    @cached_property
    def queue(self) -> Histogram:
        """Until they were let through."""
        return self._histograms["gateway_queue"].labels(self._alike.path)

    @cached_property
    def first_byte(self) -> Histogram:
        """Until the first byte was forwarded."""
        path, streamed = self._alike.path, self._alike.streamed
        return self._histograms["gateway_first_byte"].labels(path, streamed, *self._where)

    @cached_property
    def tpot(self) -> Histogram:
        """Time per output token."""
        return self._histograms["gateway_tpot"].labels(self._alike.path, *self._where)

    @cached_property
    def prompt_tokens(self) -> Counter:
        """Tokens in."""
        return self._counters["gateway_prompt_tokens"].labels(*self._where)

    @cached_property
    def output_tokens(self) -> Counter:
        """Tokens out."""
        return self._counters["gateway_output_tokens"].labels(*self._where)

    @cached_property
    def reused(self) -> Counter:
        """Over a kept connection."""
        return self._counters["gateway_connections"].labels(*self._where[:3], "reused")

    @cached_property
    def connected(self) -> Counter:
        """Over a new connection."""
        return self._counters["gateway_connections"].labels(*self._where[:3], "new")
