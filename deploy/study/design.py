"""In which order a study's engines are started, and what is sent in each start.

Owns: blocks, their order under the seed, and which cells there are. Knows nothing about time, files or
whether an arm can run.

A block holds every arm once, the control among them, in an order of its own. So a machine that gets slower
meets all arms alike, and a block of one arm is the pair of the same block of another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from deploy.study.rows import QUALITY, QUALITY_AGAIN, PlannedCell, PlannedStart


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is to be ordered."""

    arms: Sequence[str]
    """Those that are started."""
    workloads: Sequence[str]
    control: str
    repeats: int
    seed: int
    hold: bool = False
    quality: bool = False


def starts_of(layout: Layout) -> tuple[PlannedStart, ...]:
    """Every start with its cells, in order. The same layout gives the same order."""
    drawn = random.Random(f"study/{layout.seed}")
    if layout.hold:
        lives = [(arm, range(1, layout.repeats + 1)) for arm in _shuffled(layout.arms, drawn)]
    else:
        lives = [
            (arm, range(block, block + 1))
            for block in range(1, layout.repeats + 1)
            for arm in _shuffled(layout.arms, drawn)
        ]
    numbers = iter(range(1, 1 + len(lives) * (layout.repeats * len(layout.workloads) + 2)))
    starts = []
    for number, (arm, blocks) in enumerate(lives, start=1):
        order = [(block, load) for block in blocks for load in _shuffled(layout.workloads, drawn)]
        if layout.quality and 1 in blocks:
            again = (QUALITY_AGAIN,) if arm == layout.control else ()
            order += [(1, load) for load in (QUALITY, *again)]
        cells = [
            PlannedCell(
                id=f"{next(numbers):03d}-{arm}-{load}", start=number, arm=arm, block=block, workload=load
            )
            for block, load in order
        ]
        starts.append(PlannedStart(number=number, arm=arm, cells=tuple(cells)))
    return tuple(starts)


def _shuffled(names: Sequence[str], drawn: random.Random) -> list[str]:
    order = list(names)
    drawn.shuffle(order)
    return order
