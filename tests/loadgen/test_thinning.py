from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import pytest
from pydantic import TypeAdapter

from loadgen.records import Planned
from loadgen.schedule import arrivals, stream
from loadgen.thinning import share, thin
from loadgen.workload_arrivals import Arrival


def planned(index: int, time: int | None = None, **keys: Any) -> Planned:
    return Planned(index, keys.pop("phase", "measure"), time, "random", "/v1/completions", {}, **keys)


def moments(rows: Iterable[Planned]) -> list[int]:
    return [row.t_intended_ns for row in rows if row.t_intended_ns is not None]


def poisson(number: int) -> tuple[Planned, ...]:
    arrival = TypeAdapter(Arrival).validate_python(
        {"process": "poisson", "rate": "100/s", "requests": number}
    )
    return tuple(planned(i, t) for i, t in enumerate(arrivals(arrival, stream(1, "arrivals"))))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_all_workers_together_have_the_timetable_and_no_request_twice(workers: int) -> None:
    table = (planned(0, phase="warmup"), planned(1, phase="warmup"), *poisson(500)[2:])
    dealt = [row for worker in range(workers) for row in thin(table, worker, workers)]
    assert sorted(dealt, key=lambda row: row.index) == list(table)


def test_one_workers_part_does_not_depend_on_who_asks_first() -> None:
    table = poisson(100)
    assert thin(table, 1, 2) == thin(table, 1, 2)
    assert thin(table, 1, 2) != thin(table, 1, 2, seed=2)


@pytest.mark.slow
def test_each_part_of_a_poisson_timetable_is_poisson_again_with_its_share_of_the_rate() -> None:
    for worker in range(4):
        part = moments(thin(poisson(40_000), worker, 4))
        # 10,000 expected of a binomial with p = 1/4: standard deviation 87, four of them.
        assert len(part) == pytest.approx(10_000, abs=350)
        gaps = [b - a for a, b in pairwise(part)]
        assert pstdev(gaps) / fmean(gaps) == pytest.approx(1.0, abs=0.04)


def test_the_parts_are_independent_of_each_other() -> None:
    a, b = (thin(poisson(20_000), worker, 2) for worker in (0, 1))
    counts = [[0] * 200, [0] * 200]
    for side, part in zip(counts, (a, b), strict=True):
        for moment in moments(part):
            side[min(199, moment // 1_000_000_000)] += 1
    x, y = counts
    covariance = fmean((i - fmean(x)) * (j - fmean(y)) for i, j in zip(x, y, strict=True))
    # The correlation of independent counts is 0 with a standard error of 1 / sqrt(200).
    assert abs(covariance / (pstdev(x) * pstdev(y))) < 4 / math.sqrt(200)


def test_a_closed_loop_and_the_warm_up_are_dealt_in_turn() -> None:
    table = [planned(i, phase="warmup") for i in range(2)] + [planned(i) for i in range(2, 8)]
    assert [row.index for row in thin(table, 0, 2)] == [0, 2, 4, 6]


def test_a_conversation_stays_with_one_worker() -> None:
    table = [planned(3 * c + t, 7 * c if t == 0 else None, conversation=c, turn=t)
             for c in range(50) for t in range(3)]  # fmt: skip
    for worker in range(3):
        rows = thin(table, worker, 3)
        assert rows
        turns = {
            row.conversation: [r.turn for r in rows if r.conversation == row.conversation] for row in rows
        }
        assert set(map(tuple, turns.values())) == {(0, 1, 2)}


def test_a_worker_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no worker 2 of 2"):
        thin((), 2, 2)


def test_slots_are_shared_out_evenly_and_none_is_lost() -> None:
    assert [share(10, worker, 4) for worker in range(4)] == [3, 3, 2, 2]
    assert [share(1, worker, 2) for worker in range(2)] == [1, 0]
