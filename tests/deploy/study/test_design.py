from __future__ import annotations

from collections import Counter
from typing import Any

from deploy.study.design import Layout, starts_of
from deploy.study.rows import QUALITY, QUALITY_AGAIN, PlannedStart


def layout(**changes: Any) -> tuple[PlannedStart, ...]:
    given = {"arms": ["a", "b", "c"], "workloads": ["x", "y"], "control": "a", "repeats": 4, "seed": 7}
    return starts_of(Layout(**given | changes))


def blocks(starts: tuple[PlannedStart, ...]) -> list[list[str]]:
    arms = [start.arm for start in starts]
    return [arms[at : at + 3] for at in range(0, len(arms), 3)]


def test_every_block_holds_each_arm_once_the_control_among_them() -> None:
    starts = layout()
    assert all(sorted(block) == ["a", "b", "c"] for block in blocks(starts))
    assert [start.cells[0].block for start in starts] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3


def test_every_start_sends_each_workload_once() -> None:
    for start in layout():
        assert sorted(cell.workload for cell in start.cells) == ["x", "y"]


def test_the_order_is_drawn_anew_in_each_block_and_comes_again_with_the_seed() -> None:
    assert layout() == layout()
    assert blocks(layout()) != blocks(layout(seed=8))
    assert len({tuple(block) for block in blocks(layout(repeats=20))}) == 6
    assert {start.cells[0].workload for start in layout()} == {"x", "y"}


def test_no_place_in_a_block_is_an_arms_own() -> None:
    first = Counter(block[0] for block in blocks(layout(repeats=300)))
    assert all(70 <= count <= 130 for count in first.values())


def test_held_engines_start_once_and_send_every_repeat_block_by_block() -> None:
    starts = layout(hold=True)
    assert sorted(start.arm for start in starts) == ["a", "b", "c"]
    for start in starts:
        assert [cell.block for cell in start.cells] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_quality_comes_last_and_twice_in_the_control_and_once_a_study() -> None:
    starts = layout(quality=True)
    asked = [(s.arm, c.block, c.workload) for s in starts for c in s.cells if c.workload.startswith(QUALITY)]
    assert sorted(asked) == [
        ("a", 1, QUALITY), ("a", 1, QUALITY_AGAIN), ("b", 1, QUALITY), ("c", 1, QUALITY),
    ]  # fmt: skip
    first = next(start for start in starts if start.arm == "a")
    assert [cell.workload for cell in first.cells[-2:]] == [QUALITY, QUALITY_AGAIN]


def test_cells_are_numbered_through_and_name_arm_and_workload() -> None:
    cells = [cell for start in layout() for cell in start.cells]
    assert [int(cell.id.split("-")[0]) for cell in cells] == list(range(1, 25))
    assert cells[0].id == f"001-{cells[0].arm}-{cells[0].workload}"


def test_a_study_of_quality_alone_has_cells_in_the_first_block_only() -> None:
    starts = layout(workloads=[], quality=True, hold=True)
    assert [len(start.cells) for start in starts if start.arm == "a"] == [2]
