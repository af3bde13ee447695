"""Parallelism: flags, and heads that cannot be shared out."""

from __future__ import annotations

from dataclasses import replace

from serving.modes.mode import EngineContext
from serving.modes.parallel import Parallel


def test_only_degrees_above_one_become_flags(on_cpu: EngineContext) -> None:
    assert Parallel().flags(on_cpu) == ()
    assert Parallel(tensor=2, expert=True).flags(on_cpu) == (
        ("--tensor-parallel-size", "2"),
        ("--enable-expert-parallel", None),
    )


def test_nine_heads_cannot_be_shared_by_two(on_cpu: EngineContext) -> None:
    [problem] = Parallel(tensor=2).problems(on_cpu)
    assert (
        str(problem)
        == "9 attention heads cannot be shared by 2 tensor-parallel ranks; set tensor to one of 1, 3, 9"
    )
    assert Parallel(tensor=3).problems(on_cpu) == ()


def test_an_unknown_model_is_not_judged(on_cpu: EngineContext) -> None:
    assert Parallel(tensor=2).problems(replace(on_cpu, model=None)) == ()
