"""How the cores of one engine are shared out among its ranks.

Owns: the value of VLLM_CPU_OMP_THREADS_BIND. Knows nothing about which cores a machine has.
"""

from __future__ import annotations

from collections.abc import Sequence

OMP_BINDING = "VLLM_CPU_OMP_THREADS_BIND"


def omp_binding(cores: Sequence[int], ranks: int) -> str:
    """The binding of `ranks` workers: the cores of each, in order, such as `0-3|4-7`.

    The first ranks get one core more where they do not divide. vLLM reads one list a local rank (0.32.0
    utils/ompmultiprocessing.py); without a binding it wants a NUMA node for each.
    Raises: ValueError where a rank would have no core.
    """
    if ranks < 1 or len(cores) < ranks:
        raise ValueError(f"{len(cores)} cores cannot be shared by {ranks} ranks")
    each, more = divmod(len(cores), ranks)
    parts, start = [], 0
    for rank in range(ranks):
        end = start + each + (1 if rank < more else 0)
        parts.append(_spell(cores[start:end]))
        start = end
    return "|".join(parts)


def _spell(cores: Sequence[int]) -> str:
    """Neighbours become ranges: 0, 1, 2, 5 is `0-2,5`."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
