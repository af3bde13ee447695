from __future__ import annotations

from dataclasses import dataclass

import pytest

from loadgen.prompts.mix import MixSource
from loadgen.prompts.prompt import Prompt


@dataclass
class Named:
    name: str

    def make(self, index: int) -> Prompt:
        return Prompt(self.name, str(index))


def test_parts_are_drawn_by_weight_and_each_counts_for_itself() -> None:
    source = MixSource.draw([Named("a"), Named("b")], [3, 1], number=2000, seed=1)
    made = [source.make(index) for index in range(2000)]
    for name, expected in (("a", 1500), ("b", 500)):
        mine = [int(prompt.text) for prompt in made if prompt.kind == name]
        assert mine == list(range(len(mine)))
        assert len(mine) == pytest.approx(expected, abs=80)  # standard deviation 19


def test_the_draw_depends_on_the_seed_alone() -> None:
    sources = [Named("a"), Named("b")]
    drawn = [MixSource.draw(sources, [1, 1], number=50, seed=seed).drawn for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
