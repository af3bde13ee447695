"""Cores of ranks, as VLLM_CPU_OMP_THREADS_BIND spells them."""

from __future__ import annotations

import pytest

from serving.modes.cores import omp_binding


@pytest.mark.parametrize(
    ("cores", "ranks", "binding"),
    [
        ((0, 1), 2, "0|1"),  # as it was run with vLLM 0.32.0
        ((0,), 1, "0"),
        ((1,), 1, "1"),
        (tuple(range(8)), 2, "0-3|4-7"),
        ((0, 2, 3, 7), 2, "0,2|3,7"),
        ((0, 1, 2), 2, "0-1|2"),
    ],
)
def test_ranks_get_equal_parts_in_order(cores: tuple[int, ...], ranks: int, binding: str) -> None:
    assert omp_binding(cores, ranks) == binding


def test_a_rank_without_a_core_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cores cannot be shared by 3 ranks"):
        omp_binding((0, 1), 3)
