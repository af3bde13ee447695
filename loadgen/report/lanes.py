"""Which requests overlapped: lanes for a timeline and the number in flight.

Owns: the sweep over starts and ends. Knows nothing about drawing.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.records import RequestRecord


@dataclass(frozen=True, slots=True)
class Lanes:
    """Each request with its lane, 0..count-1; requests of one lane do not overlap."""

    placed: tuple[tuple[RequestRecord, int], ...]
    count: int

    @classmethod
    def of(cls, records: Sequence[RequestRecord]) -> Lanes:
        """Give each request, in the order sent, the lowest lane that is free."""
        free: list[int] = []
        busy: list[tuple[int, int]] = []
        placed: list[tuple[RequestRecord, int]] = []
        count = 0
        for record in sorted(records, key=lambda record: record.t_sent_ns):
            while busy and busy[0][0] <= record.t_sent_ns:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if free:
                lane = heapq.heappop(free)
            else:
                lane, count = count, count + 1
            heapq.heappush(busy, (record.t_end_ns, lane))
            placed.append((record, lane))
        return cls(tuple(placed), count)


def in_flight(records: Sequence[RequestRecord]) -> list[tuple[int, int]]:
    """(stamp, requests in flight from then on), at every change."""
    changes = sorted([(r.t_sent_ns, 1) for r in records] + [(r.t_end_ns, -1) for r in records])
    steps: list[tuple[int, int]] = []
    count = 0
    for stamp, change in changes:
        count += change
        if steps and steps[-1][0] == stamp:
            steps[-1] = (stamp, count)
        else:
            steps.append((stamp, count))
    return steps
